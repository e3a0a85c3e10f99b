import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { webServer } from '../support/other-servers.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows } from '../support/warehouse-state.ts';
import { accessTo, aFolder, type Folder, gmsi, says } from './gmsi.ts';

const mebibyte = 1024 * 1024;
const allowed = 600;
const countries = ['US', 'GB', 'DE', 'FR', 'IT', 'JP', 'CA', 'NO'];

/** Fields that make a record readable; `id` keeps records of several pages apart. */
const readable = (id: string) =>
  `"id":"${id}","publication_time":"2024-01-05T12:00:00","directional_positive":0.5,"directional_negative":0.1`;

/** A page whose records are given as JSON text; each window has `pages` of them. */
type Page = (country: string, page: number) => string;

interface Hostile {
  readonly page: Page;
  readonly pages?: number;
  /** The exit code, what is in the warehouse afterwards, and why windows failed, each for the same reason. */
  readonly leaves: {
    readonly code: number;
    readonly rows: number;
    readonly rejected: number;
    readonly failed?: RegExp;
  };
}

const record = (id: string, rest: string) => `{${readable(id)},"rest":${rest}}`;
const listOf = (item: string, bytes: number) =>
  `[${item},${`${item},`.repeat(bytes / (item.length + 1))}${item}]`;
const some = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join();

/** As many values as a record may hold, in as much text as it may have. */
const fullRecord = listOf(`{"x":"${'y'.repeat(190)}"}`, mebibyte - 10_000);

const hostile: Record<string, Hostile> = {
  'one record of as many empty objects as a page can hold': {
    page: (country, page) =>
      `[${record(country + page, '1')},["${country}${page}",${listOf('{}', 15.9 * mebibyte)}]]`,
    leaves: { code: 1, rows: 0, rejected: 0, failed: /^The answer has more than 500000 objects or lists\./ },
  },
  'records that are as large as they may be, as many as a page can hold': {
    page: (country, page) =>
      `[${some(8, (index) => record(`${country}${page}${index}`, fullRecord))},
        ${some(7, (index) => `{"${country}${page}${index}":${fullRecord}}`)}]`,
    leaves: { code: 1, rows: 64, rejected: 56, failed: /^7 of 15 records were rejected/ },
  },
  'records with thousands of names, brackets, letters and digits': {
    page: (country, page) => `[
      {${readable(country + page)},${some(9000, (index) => `"${country}${page}${index}":1`)}},
      {"${country}":${page},${some(60_000, (index) => `"${country}${page}${index}":1`)}},
      {${readable(`b${country}${page}`)},"__proto__":{"x":1},"constructor":1,"a\\u0000b":1,"${'n'.repeat(9000)}":1},
      ${record(`c${country}${page}`, '['.repeat(5000) + ']'.repeat(5000))},
      ["${country}${page}",${'['.repeat(300_000)}${']'.repeat(300_000)}],
      ${record(`d${country}${page}`, `"${'x'.repeat(900_000)}"`)},
      {${readable(`e${country}${page}`)},"topic_probability":"${'1'.repeat(900_000)}x"},
      ${record(`f${country}${page}`, '1'.repeat(900_000))}]`,
    pages: 2,
    leaves: { code: 0, rows: 96, rejected: 48 },
  },
};

const lists: Record<string, readonly string[]> = {
  '/v1/countries': countries,
  '/v1/headlines/topics/gmsi': ['Elections'],
};

/** Backfills eight windows of such pages in a process, and looks at what it leaves and the most memory that it took. */
async function expectWithstood(what: Hostile): Promise<void> {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  await using service = await aService(what);
  await folder.write('jobs/job.yaml', {
    countries,
    topics: ['Elections'],
    start_date: '2024-01-01',
    end_date: '2024-01-10',
    service: { rate: 'unlimited', concurrency: 8, end_date: 'inclusive', max_attempts: 2 },
  });
  const { peak, env } = await measured(folder, accessTo(warehouse, service));

  const { code, stderr } = await gmsi(['backfill', 'job'], { cwd: folder.path, env });

  const maxRss = await peak();
  const rows = await countRows(warehouse.db, 'headlines');
  const rejected = await countRows(warehouse.db, 'rejected_records');
  const { failed, ...leaves } = what.leaves;
  expect({ code, rows, rejected }, stderr).toEqual(leaves);
  const windows = await warehouse.db.selectFrom('gmsi.windows').select('last_error').execute();
  expect(windows).toHaveLength(8);
  for (const { last_error } of windows) expect(last_error ?? '').toMatch(failed ?? /^$/);
  expect(maxRss / mebibyte).toBeLessThan(allowed);
  expect(await countRows(warehouse.db, 'wire_fields')).toBeLessThanOrEqual(1000);
}

/** The environment of a process that writes down, as it ends, the most memory that it took: from outside a peak can be missed. */
async function measured(folder: Folder, env: Record<string, string>) {
  const file = `${folder.path}/peak`;
  const preload = await folder.write(
    'peak.cjs',
    `process.on('exit', () =>
      require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.resourceUsage().maxRSS)));`,
  );
  return {
    env: { ...env, NODE_OPTIONS: `--require ${JSON.stringify(preload)}` },
    /** In bytes. */
    peak: async () => Number(await readFile(file, 'utf8')) * 1024,
  };
}

/** The lookups, and for every window pages as given, packed. */
async function aService({ page, pages = 1 }: Hostile) {
  const packed = new Map<string, Buffer>();
  return webServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://service');
    const list = lists[pathname];
    if (list) return void response.end(JSON.stringify(list));
    const number = Number(searchParams.get('next_token') ?? 1);
    const country = pathname.split('/').at(-1)!;
    const hasMore = number < pages;
    const key = `${country} ${number}`;
    const token = hasMore ? `"${number + 1}"` : null;
    const text = () => `{"data":${page(country, number)},"has_more":${hasMore},"next_token":${token}}`;
    const body = packed.get(key) ?? gzipSync(text(), { level: 1 });
    packed.set(key, body);
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
  });
}

it.each(Object.entries(hostile))('takes less than 600 MB when eight windows are sent %s', (_, what) =>
  expectWithstood(what),
);

it('takes less than 600 MB for a list of a million countries, and refuses it', async () => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  await using service = await webServer((_, response) => void response.end(listOf('"AA"', 5 * mebibyte)));
  const { peak, env } = await measured(folder, accessTo(warehouse, service));
  expect(await gmsi(['lookups'], { cwd: folder.path, env })).toMatchObject(
    says(2, /^gmsi: GET \/countries lists .*more than/),
  );
  expect((await peak()) / mebibyte).toBeLessThan(allowed);
});
