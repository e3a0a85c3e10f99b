import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { NotText } from '../../src/service/errors.ts';
import { asUtf8 } from '../../src/service/http.ts';

it('is the text of a strict TextDecoder, or none, whatever its bytes are', () => {
  const text = fc.string({ unit: 'binary' }).map((text) => Buffer.from(text));
  const mark = fc.string().map((text) => Buffer.from(`\ufeff${text}`));
  const ascii = fc.string({ unit: 'grapheme-ascii' }).map((text) => Buffer.from(text));
  const bytes = fc.uint8Array().map((bytes) => Buffer.from(bytes));
  const cut = text.map((text) => text.subarray(1, -1));
  const strict = (body: Buffer) => {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(body);
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(fc.oneof(text, mark, ascii, bytes, cut), (body) => {
      const expected = strict(body);
      if (expected === undefined) expect(() => asUtf8(body, undefined)).toThrow(NotText);
      else expect(String(asUtf8(body, undefined))).toBe(expected);
    }),
  );
});

const latin1 = Buffer.from('Caf\u00e9', 'latin1');

test.each([
  ['application/json; charset=ISO-8859-1', latin1],
  ['application/json;Charset="windows-1252"; x=y', latin1],
  ['application/json; charset=utf-16le', Buffer.from('\ufeffCaf\u00e9', 'utf16le')],
  ['application/json; charset=UTF-8', Buffer.from('Caf\u00e9')],
  ['application/json', Buffer.from('Caf\u00e9')],
])('is decoded from the charset that %s declares', (contentType, bytes) => {
  expect(String(asUtf8(bytes, contentType))).toBe('Caf\u00e9');
});

test.each(['windows-1252', 'ISO-8859-1', 'us-ascii'])('has the typographic characters of %s', (charset) => {
  // WHATWG Encoding, index-windows-1252; the other five are control characters.
  const characters = '€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ';
  const bytes = Buffer.from(Array.from({ length: 128 }, (_, at) => 0x80 + at));
  const text = String(asUtf8(bytes, `application/json; charset=${charset}`));
  expect(text.slice(0, 32).replace(/[\x81\x8d\x8f\x90\x9d]/g, '')).toBe(characters);
  expect(text.slice(32)).toBe(bytes.subarray(32).toString('latin1'));
});

test.each([
  [undefined, latin1, 'The body is not UTF-8, and declares no charset.'],
  ['application/json; charset=utf8', latin1, 'The body is not UTF-8.'],
  ['application/json; charset=klingon', Buffer.from('x'), 'The body declares a charset that is not known.'],
  ['application/json; charset=shift_jis', Buffer.from([0x81]), /not in the charset that it declares/],
])('is none, declared as %s', (contentType, bytes, message) => {
  expect(() => asUtf8(bytes, contentType)).toThrow(message);
});
