import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sqlText } from '../../src/questions/reading.ts';
import { endpoint } from '../../src/web/endpoint.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aPage } from './a-page.ts';

const warehouse = await aWarehouseForAll();
let page: Awaited<ReturnType<typeof aPage>>;

beforeAll(async () => {
  page = await aPage(warehouse.db);
});

afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
});

/** What ends a line, moves a cursor or begins a command, besides the line breaks of the format itself. */
const unseen = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}]/u;
const seed = 20_261_120;

const odd = fc.oneof(
  fc.constantFrom(
    '\n\\! touch x\n--',
    "'; drop table x; --",
    "\\'; select 1",
    '\r\n\\q',
    '\u2028\\!',
    '\u001b[2J',
    '\u0085',
    '$1',
    "''",
    '\\',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
/** Texts that PostgreSQL can hold. */
const storable = fc
  .array(odd, { maxLength: 4 })
  .map((parts) => parts.join('').replaceAll('\0', '').toWellFormed());

describe('SQL to copy', () => {
  const question = (texts: readonly string[]) => ({
    about: `What is ${texts[0]}`,
    query: sql<{ one: string; many: string[] }>`
      select ${texts[0]}::text as one,
             ${texts}::text[] as many`,
  });

  it('has the lines of the question and no others, whatever its values are, and asks for the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(storable, { minLength: 1, maxLength: 3 }), async (texts) => {
        const shown = sqlText(warehouse.db, question(texts));
        expect(shown).not.toMatch(unseen);
        expect(shown.split('\n')).toHaveLength(4);
        const { rows } = await sql.raw(shown).execute(warehouse.db);
        expect(rows).toEqual([{ one: texts[0], many: texts }]);
      }),
      { seed, numRuns: 200 },
    );
  });
});

describe('CSV', () => {
  const given = [
    '=HYPERLINK("http://x")',
    '@SUM(A1)',
    '+1',
    '-1',
    '＝1',
    '\t=1',
    '\n@x',
    'a\nb',
    'a\u001b[2Jb\u2028',
    "it's",
    'a,"b"',
    'a;=1; @x; -1%;\u00a0＋1, =2',
    '\u00a0=1',
    '\u200b+1',
    'a\u202eb',
  ];
  const texts = endpoint('texts', 'Texts of others', {
    takes: z.object({}),
    row: z.object({ text: z.string(), score: z.number() }),
    ask: () => ({
      about: 'Texts',
      query: sql<{
        text: string;
        score: number;
      }>`select text, -0.5::double precision as score from unnest(${given}::text[]) as text`,
    }),
  });

  it('is one line a row, of which a spreadsheet runs nothing, and numbers stay numbers', async () => {
    await using other = await aPage(warehouse.db, { endpoints: [texts] });
    const csv = await (await fetch(`${other.url}/api/texts.csv`)).text();
    expect(csv).not.toMatch(unseen);
    const lines = csv.trimEnd().split('\n');
    const shown = [
      `"'=HYPERLINK(""http://x"")"`,
      `'@SUM(A1)`,
      `'+1`,
      `'-1`,
      `'＝1`,
      `' =1`,
      `' @x`,
      'a b',
      'a [2Jb ',
      "it's",
      `"a,""b"""`,
      `"a;'=1;' @x;' -1%;'\u00a0＋1,' =2"`,
      `'\u00a0=1`,
      `'\u200b+1`,
      'a b',
    ];
    expect(lines).toEqual(['text,score', ...shown.map((text) => `${text},-0.5`)]);
  });

  it('has texts as they are if asked to, still one line a row', async () => {
    await using other = await aPage(warehouse.db, { endpoints: [texts] });
    const csv = await (await fetch(`${other.url}/api/texts.csv?raw=true`)).text();
    expect(csv).not.toMatch(unseen);
    expect(csv.split('\n').slice(1, 5)).toEqual([
      `"=HYPERLINK(""http://x"")",-0.5`,
      '@SUM(A1),-0.5',
      '+1,-0.5',
      '-1,-0.5',
    ]);
    expect(csv.trimEnd().split('\n')).toHaveLength(given.length + 1);
    expect((await fetch(`${other.url}/api/texts?raw=true`)).status).toBe(400);
  });
});

describe('a hostile request', () => {
  const hostile = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        '\0',
        'US\0',
        '\ud800',
        '\u2028',
        '',
        ' ',
        'null',
        '[object Object]',
        "'",
        '%',
        '%00',
        '../..',
      ),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        ...'0000-01-01 -000001-01-01 9999-12-31 2026-02-30 2026-13-01 294277-01-01 1899-12-31'.split(' '),
        ...'2026-1-1 today'.split(' '),
        '2026-10-01T00:00:00Z',
        '0000-01-01T00:00:00Z',
        '9999-12-31T23:59:59Z',
        '2026-10-01T24:00:00Z',
        '2026-10-01T00:00:60Z',
        '2026-10-01T00:00:00+23:59',
        '2026-10-01T00:00:00.12345678901Z',
        '2026-10-01',
        '2026-10-01T00:00Z',
        '+010000-01-01T00:00:00Z',
        '0000-01',
        '9999-12',
        '2026-00',
        '2026-11',
      ),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(...'0 -1 1e9 0x10 1.5 NaN Infinity 99999999999999999999 5'.split(' ')),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...'hour month gmsi-headlines COMBINED US true 00000000-0000-0000-0000-000000000000'.split(' '),
      ),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
    { weight: 1, arbitrary: fc.constantFrom('x'.repeat(201), 'x'.repeat(5_000)) },
  );

  /** As a browser would write it, or broken. */
  const encoded = (text: string) => (text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80');

  const requests = () => {
    const usual: Readonly<Record<string, string>> = {
      feed: 'gmsi-headlines',
      match_type: 'COMBINED',
      country: 'US',
      topic: 'Inflation-Food',
      month: '2026-11',
      published_at: '2026-10-01T00:00:00Z',
      headline_id: '00000000-0000-0000-0000-000000000000',
    };
    return fc.constantFrom(...page.endpoints).chain(({ path, takes }) => {
      const names = Object.keys(takes.shape);
      const good = (name: string) => {
        if (name !== 'from' && name !== 'to') return usual[name];
        return path.startsWith('headlines') ? '2026-10-01T00:00:00Z' : '2026-10-01';
      };
      const given = fc.tuple(
        ...names.map((name) =>
          fc.oneof(
            { weight: 3, arbitrary: fc.constant(good(name) === undefined ? [] : [good(name)!]) },
            { weight: 2, arbitrary: fc.array(hostile, { maxLength: 3 }) },
          ),
        ),
        fc.array(hostile, { maxLength: 1 }),
      );
      return fc
        .record({ given, form: fc.constantFrom('', '.csv', '.sql') })
        .map(({ given: values, form }) => {
          const pairs = values.flatMap((all, at) =>
            all.map((value) => `${names[at] ?? 'other'}=${encoded(value)}`),
          );
          return `/api/${path}${form}?${pairs.join('&')}`;
        });
    });
  };

  it('is answered or refused, and never an error of the program', async () => {
    const counts: Record<number, number> = {};
    await fc.assert(
      fc.asyncProperty(requests(), async (path) => {
        const response = await fetch(`${page.url}${path}`);
        counts[response.status] = (counts[response.status] ?? 0) + 1;
        const body = await response.text();
        expect([200, 304, 400, 404, 431], `${path}\n${body}`).toContain(response.status);
        if (response.ok && !response.headers.get('content-type')!.includes('json'))
          expect(body).not.toMatch(unseen);
      }),
      { seed, numRuns: 400 },
    );
    // Neither is all refused before it is looked at.
    expect(counts[200]).toBeGreaterThan(50);
    expect(counts[400]).toBeGreaterThan(100);
    expect(page.log).toEqual([]);
  }, 120_000);

  it.each([
    ['sentiment?country=US&topic=x&from=2026-10-31&to=2026-10-01', /^from must not be after to\.$/],
    ['sentiment?country=US&topic=x&from=x&to=2026-10-01', /^from: It must be a day/],
    [
      'headlines?country=US&topic=x&from=2026-10-31T00:00:00Z&to=2026-10-01T00:00:00Z',
      /^from must not be after to\.$/,
    ],
    ['headlines?country=US%00&topic=x&from=2026-10-01T00:00:00Z&to=2026-10-31T00:00:00Z', /^country: .*NUL/],
    ['sentiment?country=US&country=%00&topic=x&from=2026-10-01&to=2026-10-01', /^country.*NUL/],
    ['requests?month=0000-01', /^month: It must be a month/],
    [
      'headlines?country=US&topic=x&from=0000-01-01T00:00:00Z&to=2026-10-31T00:00:00Z',
      /^from: .* 1900 to 2100/,
    ],
  ])('%s is refused in words', async (path, message) => {
    const response = await fetch(`${page.url}/api/${path}`);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toMatch(message);
  });
});

it('logs what goes wrong inside, and answers without the words of the inside', async () => {
  const broken = endpoint('broken', 'Fails', {
    takes: z.object({ of: z.string().optional() }),
    row: z.object({}),
    ask: () => ({
      about: 'fails',
      query: sql<Record<string, never>>`select 1 / 0 as a_column_of_the_inside`,
    }),
  });
  await using other = await aPage(warehouse.db, { endpoints: [broken] });
  const response = await fetch(`${other.url}/api/broken?of=a-secret-in-the-address`);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toMatch(/zero|inside|select|22012/);
  expect(other.log).toMatchObject([
    { path: '/api/broken', err: { code: '22012', message: 'division by zero' } },
  ]);
  expect(JSON.stringify(other.log)).not.toContain('a-secret-in-the-address');
});
