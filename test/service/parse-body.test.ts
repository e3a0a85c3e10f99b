import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NotJson, parseBody, parseJson } from '../../src/service/json.ts';

/** Texts and keys that look like the places at which a page is cut, or like what decides about them. */
const texts = fc.oneof(
  fc.constantFrom(
    '},{',
    '[{',
    '}]',
    '},{"id":',
    ']}',
    '"data":[{"id":1}]',
    '\\',
    '"',
    'é',
    '😀',
    '\u2028',
    'NaN',
  ),
  fc.string({ unit: 'binary' }),
);
const names = fc.oneof(fc.constantFrom('id', 'data', '__proto__', '},{"id":', '[{'), texts);
const records = fc.letrec((tie) => ({
  value: fc.oneof(
    ...[texts, fc.integer(), fc.double(), fc.constant(null), fc.maxSafeInteger()],
    fc.array(tie('record'), { maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('record'),
  ),
  record: fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map(objectText),
})).record;

/** A record as JSON; written by hand so that names may repeat. */
function objectText(fields: [string, unknown][]) {
  return { json: `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`)}}` };
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf)}]`;
  if (typeof value === 'object' && value !== null) return (value as { json: string }).json;
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/** What a page has besides its records. */
const around = fc.constantFrom(
  ['[', ']'],
  ['{"data":[', '],"has_more":false}'],
  ['{"has_more":true,"next_token":"[{","data":[', '],"next_token":"}]"}'],
  ['{"data":[],"data":[', ']}'],
  ['{"data":[', '],"data":[]}'],
  ['{"data":[', '],"data":[0]}'],
  ['{"data":[0],"more":[', ']}'],
  ['{"data":[],"more":[', ']}'],
  ['{"data":[[', ']]}'],
  ['{"data":{"data":[', ']}}'],
  ['{"meta":[{"id":1}],"data":[', ']}'],
  ['{"data":[', '],"meta":[{"id":1},{"id":2}]}'],
  ['{"text":"[{\\"id\\":1}]","data":[', ']}'],
  ['{"text":"', '"}'],
  ['{"data":[', ',]}'],
  ['{"data":[', ']]}'],
  ['{"data":[', '}'],
  ['{"data":[', ']} {}'],
  ['[', '],['],
  ['{"id":12345678901234567,"data":[', '],"score":NaN}'],
);

/** Twenty times the same records, so that there is something to cut. */
const bodies = fc
  .tuple(around, fc.array(records, { minLength: 1, maxLength: 6 }), fc.constantFrom(',', ', ', ' ,', ',\n'))
  .map(([[before, after], some, comma]) => {
    const filler = `{"id":"${'x'.repeat(2000)} é"}`;
    const list = [...Array(20).keys()].flatMap(() => [
      filler,
      ...some.map((one) => (one as { json: string }).json),
      filler,
    ]);
    return `${before}${list.join(comma)}${after}`;
  });

/** The value, or the name of the error. */
function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    expect(error).toBeInstanceOf(NotJson);
    return 'not JSON';
  }
}

describe('a body of many records', () => {
  test('is parsed as its text is, whatever its records and its envelope look like', () => {
    fc.assert(
      fc.property(bodies, (text) => {
        const body = Buffer.from(text);
        const expected = outcome(() => parseJson(body.toString()));
        expect(JSON.stringify(outcome(() => parseBody(body)))).toBe(JSON.stringify(expected));
      }),
      { numRuns: 200 },
    );
  });

  test('is parsed as its text is, wherever it breaks off and whatever byte of it is wrong', () => {
    fc.assert(
      fc.property(
        bodies,
        fc.nat(),
        fc.constantFrom('', '"', '\\', ']', '}', ',', '\xff'),
        (text, at, wrong) => {
          const whole = Buffer.from(text);
          const place = at % whole.length;
          const rest = wrong === '' ? '' : whole.subarray(place + 1);
          const body = Buffer.concat([
            whole.subarray(0, place),
            Buffer.from(wrong, 'latin1'),
            Buffer.from(rest),
          ]);
          const expected = outcome(() => parseJson(body.toString()));
          expect(JSON.stringify(outcome(() => parseBody(body)))).toBe(JSON.stringify(expected));
        },
      ),
      { numRuns: 200 },
    );
  });
});
