import { execFileSync } from 'node:child_process';
import { readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { describeImport } from '../../src/commands/import/import-summary.ts';
import { openDuckDB } from '../../src/duckdb.ts';
import { cutOffOn } from '../../src/import/file-days.ts';
import { inOrder } from '../../src/import/import-files.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { nameMoment } from '../../src/warehouse/tables/moments.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { isMoved } from '../support/moved-time.ts';
import { aWindowIn, countRows, sqlIn } from '../support/warehouse-state.ts';
import { aFolder, aZip, clock, it, manyRecords, runImport, statedOfMany } from './importing.ts';

/** Which days count as covered by an import: only those of which everything that lies there was loaded. */

const us = 'country=US/topic=Wars/match_type=COMBINED';
const de = 'country=DE/topic=Wars/match_type=COMBINED';

async function covered(db: Warehouse): Promise<Record<string, string>> {
  const rows = await sqlIn(db)<{ country: string; days: string }>`
    select country, days::text from gmsi.coverage where not isempty(days)`;
  return Object.fromEntries(rows.map(({ country, days }) => [country, days]));
}

const csv = 'id,publication_time,headline,directional_score\n';

describe('something beside a file that holds days', () => {
  const all = '{[2024-01-01,2025-01-01)}';
  const ofOthers = { DE: all };
  const nothing = {};

  it.for<[what: string, name: string, content: string | Buffer, why: RegExp, left: object]>([
    ['was cut off', `${us}/part-1.ndjson`, manyRecords(3).slice(0, -9), /is not JSON/, ofOthers],
    ['is empty', `${us}/2024-05.csv`, '', /is empty/, ofOthers],
    ['has only a header, of other columns', `${us}/2024-05.csv`, 'a,b\n', /no time column/, ofOthers],
    [
      'has all its records rejected',
      `${us}/2024-05.csv`,
      `${csv}1,2024-05-01,x,"0,5"\n`,
      /1 of 1 records were rejected/,
      ofOthers,
    ],
    ['has an unsupported format', `${us}/2024-05.csv.zst`, 'x', /unsupported format/, nothing],
    ['is half downloaded', `${us}/year=2024/part-1.csv.part`, 'x', /unsupported format/, nothing],
    ['is Parquet by a short ending', `${us}/year=2024/part-1.pq`, 'x', /unsupported format/, nothing],
    ['is a broken ZIP file', `${us}/more.zip`, 'PK', /is not a readable ZIP file/, nothing],
    ['has a name that says nothing', 'more.csv', csv, /does not say its feed/, nothing],
  ])(
    '%s is named, and leaves its series or all uncovered',
    async ([_what, name, content, why, left], { db, folder }) => {
      for (const series of [us, de]) await folder.write(`${series}/2024.ndjson`, manyRecords(20));
      await folder.write(name, content);
      const result = await runImport(db, [folder.path]);
      expect(result).toMatchObject({ outcome: 'incomplete', covered: { series: Object.keys(left).length } });
      expect(result.refused).toEqual([
        expect.objectContaining({ name: join(folder.path, name), why: expect.stringMatching(why) }),
      ]);
      expect(await covered(db)).toEqual(left);

      // Once it is gone or repaired, nothing is loaded twice, and the days are covered.
      await rm(join(folder.path, name));
      expect(await runImport(db, [folder.path])).toMatchObject({
        outcome: 'done',
        loaded: 0,
        loadedBefore: 2,
        covered: { series: 2, days: 732 },
      });
      expect(await covered(db)).toEqual({ US: all, DE: all });
    },
  );

  it('in a ZIP file leaves days uncovered, too: another kind, or encrypted', async ({ db, folder }) => {
    await folder.write(`${us}/2024.ndjson`, manyRecords(20));
    await folder.write(`${de}/2024.ndjson`, manyRecords(20));
    await folder.write('more.zip', await aZip({ [`${us}/2024.csv.zst`]: Buffer.from('x') }));
    const secret = await aZip({ [`${de}/2024.csv`]: Buffer.from(csv) });
    // Of the file's own header, and in the directory at the end.
    for (const sign of ['PK\x03\x04', 'PK\x01\x02']) {
      const at = secret.indexOf(sign) + (sign.endsWith('\x04') ? 6 : 8);
      secret.writeUInt16LE(secret.readUInt16LE(at) | 1, at);
    }
    await folder.write('secret.zip', secret);
    const { refused, covered: of } = await runImport(db, [folder.path]);
    expect(refused.map(({ why }) => why)).toEqual([
      expect.stringMatching(/has an unsupported format/),
      expect.stringMatching(/is encrypted: unpack the ZIP file/),
    ]);
    expect(of).toEqual({ series: 0, days: 0 });
  });
});

describe('a file', () => {
  it('without records covers its days only if others of its series have some', async ({ db, folder }) => {
    for (const series of [us, de]) await folder.write(`${series}/2023.csv.gz`, csv);
    await folder.write(`${us}/2024.ndjson`, manyRecords(2));
    expect(await runImport(db, [folder.path])).toMatchObject({
      outcome: 'done',
      covered: { series: 1, days: 731 },
    });
    expect(Object.keys(await covered(db))).toEqual(['US']);
  });

  it('covers nothing if the warehouse goes back in time after it was loaded', async ({ db, folder }) => {
    await sqlIn(db)`
      create function gmsi.go_back() returns trigger language plpgsql as
      ${sql.lit('begin delete from gmsi.headlines; delete from gmsi.imported_files; return null; end')};
      create trigger go_back after update on gmsi.imported_files for each row
        when (old.finished_at is null and new.finished_at is not null) execute function gmsi.go_back()`;
    await folder.write(`${us}/2024.ndjson`, manyRecords(2));
    await expect(runImport(db, [folder.path])).rejects.toThrow(/gone back in time/);
    expect(await covered(db)).toEqual({});
    await sqlIn(db)`drop trigger go_back on gmsi.imported_files`;
    expect(await runImport(db, [folder.path])).toMatchObject({ outcome: 'done', covered: { days: 366 } });
  });

  it('with a few rejected records covers its days; with too many it does not', async ({ db, folder }) => {
    const write = (series: string, rejected: number) =>
      folder.write(
        `${series}/2024.ndjson`,
        `${manyRecords(500)}${'{"publication_time":"2024-01-01"}\n'.repeat(rejected)}`,
      );
    await write(us, 5);
    await write(de, 6);
    const first = await runImport(db, [folder.path]);
    const why = expect.stringMatching(
      /^6 of 506 records were rejected, more than 1%: gmsi\.rejected_records has the reasons/,
    );
    expect(first).toMatchObject({
      outcome: 'incomplete',
      loaded: 1,
      refused: [{ why }],
      covered: { series: 1 },
    });
    expect(first.loads[0]!.totals).toMatchObject({ rows_inserted: 1000, records_rejected: 11 });
    const again = await runImport(db, [folder.path]);
    expect(again, 'and again').toMatchObject({ outcome: 'incomplete', loadedBefore: 1, refused: [{ why }] });
    expect(Object.keys(await covered(db))).toEqual(['US']);
  });

  it('is told from one of equal content by its series and its folders', async ({ db, folder }) => {
    const record = '{"publication_time":"2024-01-01T10:00:00","headline":"One","directional_score":0.5}\n';
    for (const place of [`${us}/language=en`, `${us}/language=de`, `${de}/language=en`])
      await folder.write(`${place}/2024.ndjson`, record);
    // The same place under another name is the same file.
    await folder.write(`${us}/language=en/copy/2024.ndjson`, record);
    expect(await runImport(db, [folder.path])).toMatchObject({ outcome: 'done', loaded: 3, loadedBefore: 1 });
    expect(await sqlIn(db)`select country, language from gmsi.headlines order by 1, 2`).toEqual([
      { country: 'DE', language: 'en' },
      { country: 'US', language: 'de' },
      { country: 'US', language: 'en' },
    ]);
    expect(await runImport(db, [folder.path])).toMatchObject({ outcome: 'done', loaded: 0, loadedBefore: 4 });
  });

  it('is read by its path, whatever is in its name', async ({ db, folder }) => {
    const names = ['a[12]', 'a1', 'a2', 'b*', 'bb', 'c?', 'cc', "d'{e,f}", 'd\\e'];
    using duckdb = await openDuckDB('', new AbortController().signal);
    const source = join(folder.path, 'source.parquet');
    for (const [at, name] of names.entries()) {
      const select = `select '2024-01-01T10:00:00' as publication_time, '${at}' as headline, 0.5 as directional_score`;
      await duckdb.run(`copy (${select}) to '${source}' (format parquet)`);
      await folder.write(`${us}/${name}.parquet`, await readFile(source));
    }
    await rm(source);
    expect(await runImport(db, [folder.path])).toMatchObject({ outcome: 'done', loaded: names.length });
    const rows = await sqlIn(db)<{ headline: string }>`select headline from gmsi.headlines order by 1`;
    expect(rows.map(({ headline }) => headline)).toEqual(names.map((_, at) => String(at)));
  });
});

const may = { from: '2023-05-01', to: '2023-05-31' };
const everyDay = daysOfMay(1, 30);

/** Returns days of May 2023: every one, or every `step`th. */
function daysOfMay(first: number, last: number, step = 1): string[] {
  const days = Array.from({ length: 31 }, (_, n) => `2023-05-${String(n + 1).padStart(2, '0')}`);
  return days.slice(first - 1, last).filter((_, at) => at % step === 0);
}

/** A CSV of headlines with these times, two on each. */
function withTimes(times: readonly (string | number)[]): string {
  return `${csv}${times.flatMap((time, at) => [`${at}a,${time},A ${at},0.5\n`, `${at}b,${time},B ${at},0.5\n`]).join('')}`;
}

describe('days that are stated', () => {
  it.for([
    ['options', 'many.csv', may],
    ['the name', `${us}/2023-05.csv`, undefined],
    ['a folder', `${us}/month=2023-05/many.csv`, undefined],
  ] as const)('by %s are not covered by records of other days', async ([, name, days], { db, folder }) => {
    await folder.write(name, withTimes(everyDay.map((day) => day.replace('2023', '1976'))));
    const stated = name === 'many.csv' ? statedOfMany : {};
    for (let run = 1; run <= 2; run++) {
      expect(await runImport(db, [folder.path], { stated, days })).toMatchObject({
        outcome: 'incomplete',
        loaded: 0,
        loadedBefore: 0,
        outside: 60,
        covered: { series: 0, days: 0 },
        refused: [
          {
            why: expect.stringMatching(
              /^none of its 60 records is of 2023-05-01 to 2023-05-31; its records are from 1976-05-01 to 1976-05-30: they are loaded, but/,
            ),
          },
        ],
      });
    }
    expect(await covered(db)).toEqual({});
    expect(await countRows(db, 'headlines')).toBe(60);
  });

  it('are not covered if more than a few records are of other days', async ({ db, folder }) => {
    const days = may;
    const many = await folder.write(
      'many.csv',
      withTimes([...everyDay, ...everyDay.slice(0, 3).map(aYearOn)]),
    );
    const { refused } = await runImport(db, [many], { stated: statedOfMany, days });
    expect(refused).toMatchObject([
      { why: expect.stringMatching(/^6 of its 66 records are not of 2023-05-01 to 2023-05-31; its/) },
    ]);
    const few = await folder.write('few.csv', withTimes([...everyDay, ...everyDay.slice(0, 2).map(aYearOn)]));
    expect(await runImport(db, [few], { stated: { ...statedOfMany, country: 'DE' }, days })).toMatchObject({
      outcome: 'done',
      outside: 4,
    });
    expect(await covered(db)).toEqual({ DE: '{[2023-05-01,2023-06-01)}' });
  });

  it('may begin and end in another time zone, and be quiet for long', async ({ db, folder }) => {
    const times = ['2023-04-30T23:00:00', '2023-05-01T10:00:00', '2023-06-01T03:00:00'];
    await folder.write(`${us}/2023-05.csv`, withTimes(times));
    await folder.write(`${us}/2022.csv`, withTimes(['2022-12-31']));
    expect(await runImport(db, [folder.path])).toMatchObject({ outcome: 'done', covered: { days: 396 } });
  });

  it('are compared with what was loaded before, too, in any number of batches', async ({ db, folder }) => {
    // 1,500 minutes: a day and an hour.
    const path = await folder.write('many.ndjson', manyRecords(1500));
    const stated = statedOfMany;
    expect(await runImport(db, [path], { stated })).toMatchObject({ outcome: 'done', loaded: 1 });
    const rows = await sqlIn(db)`select records_by_day from gmsi.imported_files`;
    expect(rows).toEqual([{ records_by_day: { '2024-01-01': 1440, '2024-01-02': 60 } }]);
    expect(await runImport(db, [path], { stated, days: may })).toMatchObject({
      refused: [{}],
      outside: 1500,
    });
    const days = { from: '2024-01-01', to: '2024-01-02' };
    expect(await runImport(db, [path], { stated, days })).toMatchObject({
      outcome: 'done',
      loadedBefore: 1,
      covered: { days: 2 },
    });
  });
});

describe('a file that ends long before its days do', () => {
  const name = `${us}/2023-05.csv`;

  it('covers its days up to the one before its last record, unless they are stated', async ({
    db,
    folder,
  }) => {
    const path = await folder.write(name, withTimes(daysOfMay(1, 13)));
    const cut = { name: path, files: 1, days: may, last: '2023-05-13', covered: '2023-05-12' };
    const result = await runImport(db, [folder.path]);
    expect(result).toMatchObject({ outcome: 'done', covered: { series: 1, days: 12 }, cut: [cut] });
    expect(await covered(db)).toEqual({ US: '{[2023-05-01,2023-05-13)}' });
    expect(describeImport(result, undefined, clock())).toContain(
      `${path} ends on 2023-05-13: the days after 2023-05-12 are not counted as covered; if they had no news, ` +
        'import it again with --from 2023-05-01 --to 2023-05-31\n',
    );
    // They are stated, so there was no news.
    expect(await runImport(db, [folder.path], { days: may })).toMatchObject({
      covered: { days: 31 },
      cut: [],
    });
    expect(await covered(db)).toEqual({ US: '{[2023-05-01,2023-06-01)}' });
  });

  it('covers all of them if another file has the rest', async ({ db, folder }) => {
    await folder.write(`${us}/month=2023-05/part-1.csv`, withTimes(daysOfMay(1, 13)));
    await folder.write(`${us}/month=2023-05/part-2.csv`, withTimes(daysOfMay(14, 31)));
    expect(await runImport(db, [folder.path])).toMatchObject({ covered: { days: 31 }, cut: [] });
  });

  it('is not hidden by the other part of its match type', async ({ db, folder }) => {
    for (const [part, last] of [
      ['EXPLICIT', 13],
      ['IMPLICIT', 31],
    ] as const)
      await folder.write(
        `match_type=${part}/2023-05.csv`,
        withTimes(daysOfMay(1, last)).replace('directional_score', 'sentiment_score'),
      );
    const stated = { ticker: 'BZ_COM', matchType: 'COMBINED' };
    expect(await runImport(db, [folder.path], { stated })).toMatchObject({
      covered: { days: 12 },
      cut: [{ files: 2, last: '2023-05-13' }],
    });
  });

  const workdays = daysOfMay(1, 31).filter((day) => !['2023-05-06', '2023-05-07'].includes(day));
  it.for<[what: string, days: readonly string[], last: string | undefined]>([
    ['of a series with news each day is noticed by two days', daysOfMay(1, 29), '2023-05-29'],
    ['is not noticed by one day', daysOfMay(1, 30), undefined],
    ['is measured by its longest silence, such as a weekend', workdays.slice(0, -6), undefined],
    ['is noticed after three of them', workdays.slice(0, -7), '2023-05-24'],
    ['of a quiet series is not noticed', daysOfMay(1, 13, 3), undefined],
    ['is measured by the silence at its begin, too', daysOfMay(7, 14), undefined],
    ['has no news of a decade later', [...daysOfMay(1, 13), '2034-05-13'], '2023-05-13'],
    ['may end in another time zone', [...daysOfMay(1, 13), '2023-06-01'], undefined],
    ['or is empty', [], undefined],
  ])('%s', ([_what, days, last]) => {
    expect(cutOffOn(may, [Object.fromEntries(days.map((day) => [day, 1]))])).toBe(last);
  });
});

describe('a corrected file with fewer records', () => {
  /** Writes records of days: two of each, unless `few` says how many. */
  async function write(
    folder: Awaited<ReturnType<typeof aFolder>>,
    name: string,
    days: readonly string[],
    few: Readonly<Record<string, number>> = {},
  ) {
    const records = days.flatMap((day) =>
      ['a', 'b'].slice(0, few[day]).map((id) => `${day}${id},${day}T10:00:00,${id},0.5\n`),
    );
    return await folder.write(name, csv + records.join(''));
  }
  const few = { '2023-05-10': 1, '2023-05-12': 0 };
  const whole = daysOfMay(1, 31);

  it('says which rows stay, until they are retracted', async ({ db, folder }) => {
    await runImport(db, [await write(folder, `old/${us}/2023-05.csv`, whole)]);
    const corrected = await write(folder, `new/${us}/2023-05.csv`, whole, few);
    const result = await runImport(db, [corrected]);
    expect(result).toMatchObject({ outcome: 'done', covered: { days: 31 } });
    const example = { series: 'US Wars', day: '2023-05-10', rows: 2, records: 1 };
    expect(result.moreRows).toEqual({ days: 2, example });
    expect(await countRows(db, 'headlines')).toBe(62);
    const said = describeImport(result, undefined, clock());
    expect(said).toMatch(
      /more rows\S* +on 2 days than the files have records \(US Wars 2023-05-10: 2 rows, 1 record\)/,
    );
    expect(said).toMatch(/never removes rows, so these stay.*gmsi backfill <job> --full-refresh --from/);

    await sqlIn(db)`
      update gmsi.headlines set retracted_at = now(), changed_at = now()
      where published_at = '2023-05-10T10:00Z' and headline = 'b' or published_at = '2023-05-12T10:00Z'`;
    // Loaded before, so nothing comes back.
    expect((await runImport(db, [corrected])).moreRows).toEqual({ days: 0, example: undefined });
  });

  it('says so, too, if the rows are not of a file with days', async ({ db, folder }) => {
    await runImport(db, [await write(folder, `${us}/any.csv`, whole)]);
    const path = await write(folder, `${us}/2023-05.csv`, whole, few);
    expect(await runImport(db, [path])).toMatchObject({ moreRows: { days: 2 } });
  });

  it('says it of the days that it covers only', async ({ db, folder }) => {
    await runImport(db, [await write(folder, `old/${us}/2023-05.csv`, whole)]);
    await write(folder, `new/${us}/2023-05.csv`, daysOfMay(1, 11), few);
    await folder.write(`new/${us}/2023-07.csv`, csv);
    expect(await runImport(db, [join(folder.path, 'new')])).toMatchObject({
      cut: [{ last: '2023-05-11' }],
      covered: { days: 41 },
      moreRows: { days: 1 },
    });
  });

  it('is not told from the other half of its days', async ({ db, folder }) => {
    for (const id of ['a', 'b'])
      await folder.write(
        `${us}/month=2023-05/${id}.csv`,
        csv + whole.map((day) => `${day}${id},${day}T10:00:00,${id},0.5\n`).join(''),
      );
    expect(await runImport(db, [folder.path])).toMatchObject({
      covered: { days: 31 },
      moreRows: { days: 0 },
    });
  });
});

describe('files', () => {
  it('are loaded in the order in which they were made, whatever their names', async ({ db, folder }) => {
    const countries = ['US', 'DE', 'FR', 'GB', 'IT', 'JP'];
    for (const [at, country] of countries.entries()) {
      const path = await folder.write(
        `country=${country}/topic=Wars/match_type=COMBINED/${9 - at}.csv`,
        withTimes(['2023-05-01']),
      );
      const madeAt = new Date(Date.UTC(2023, 5, 10 + at));
      await utimes(path, madeAt, madeAt);
    }
    await runImport(db, [folder.path]);
    const rows = await sqlIn(db)<{
      country: string;
    }>`select country from gmsi.imported_files order by file_id`;
    // Two are read at once, so one may come later than others. By their names, all would be the other way round.
    const order = rows.map(({ country }) => countries.indexOf(country));
    const overtaken = order.flatMap((one, at) => order.slice(at).filter((later) => later < one));
    expect(order).toHaveLength(countries.length);
    expect(overtaken.length).toBeLessThan(7);
  });

  it('that were made at the same time are loaded by year, not by series', () => {
    const file = (madeAt: number, ...parts: string[]) => ({ file: { madeAt: new Date(madeAt), parts } });
    const files = [file(2, 'a', '2001'), file(1, 'a', '2003'), file(1, 'a', '2002'), file(1, 'b', '2002')];
    expect(files.toSorted(inOrder).map(({ file: { parts } }) => parts.join('/'))).toEqual([
      'a/2002',
      'b/2002',
      'a/2003',
      'a/2001',
    ]);
  });
});

function aYearOn(day: string): string {
  return day.replace('2023', '2024');
}

describe('a link', () => {
  it('is not followed in a folder, in a ZIP file or when named', async ({ db, folder }) => {
    await using other = await aFolder();
    const secret = await other.write('passwd', 'root:x:0:0\n');
    const named = join(other.path, 'named');
    await symlink(folder.path, named);
    await folder.write(`${us}/2024.ndjson`, manyRecords(3));
    const inFolder = (name: string) => join(folder.path, us, name);
    await symlink(secret, inFolder('2024-part.csv'));
    await symlink('..', inFolder('loop'));
    await symlink(secret, inFolder('README'));
    const zip = await aZip({ [`${us}/2023.csv`]: Buffer.from(secret) }, { mode: 0o120777 });
    await writeFile(inFolder('more.zip'), zip);
    // As a shell expands * to.
    const result = await runImport(db, [folder.path, inFolder('2024-part.csv'), named]);
    const link = (name: string, to: string) => ({ name, line: null, why: `is a link: name ${to} itself` });
    expect(result.refused).toEqual([
      link(inFolder('2024-part.csv'), secret),
      link(inFolder('loop'), join(folder.path, us, '..')),
      { name: `${inFolder('more.zip')}/${us}/2023.csv`, line: null, why: 'is a link' },
      link(inFolder('2024-part.csv'), secret),
      link(named, folder.path),
    ]);
    expect(result).toMatchObject({ loaded: 1, covered: { days: 0 }, ignored: [inFolder('README')] });
    expect(await sqlIn(db)`select from gmsi.rejected_records`).toEqual([]);
    for (const name of ['2024-part.csv', 'loop', 'more.zip']) await rm(inFolder(name));
    // Beyond it, a path is one that the user chose.
    expect(await runImport(db, [`${named}/`])).toMatchObject({ outcome: 'done', covered: { days: 366 } });
  });

  it('that leads nowhere, and a pipe, are named and leave days uncovered', async ({ db, folder }) => {
    for (const series of [us, de]) await folder.write(`${series}/2024.ndjson`, manyRecords(2));
    await symlink('gone', join(folder.path, us, 'more'));
    execFileSync('mkfifo', [join(folder.path, de, 'pipe.csv')]);
    const { refused, covered: of } = await runImport(db, [folder.path]);
    expect(refused.map(({ why }) => why).sort()).toEqual([
      'cannot be read: no such file or directory',
      'is not a regular file',
    ]);
    expect(of).toEqual({ series: 0, days: 0 });
  });
});

it('half-drained windows stay, though files cover their days; others go', async ({ db, folder }) => {
  const path = await folder.write('many.ndjson', manyRecords(3));
  const begun = { state: 'pending', pages: 1 };
  await aWindowIn(db, '2024-01-10', '2024-01-10', { ...begun, next_token: 'a token' });
  await aWindowIn(db, '2024-01-20', '2024-01-20', begun);
  const days = { from: '2024-01-01', to: '2024-01-31' };
  expect(await runImport(db, [path], { stated: statedOfMany, days })).toMatchObject({
    covered: { days: 31 },
  });
  const rows = await sqlIn(db)`select first_day::text, next_token from gmsi.windows`;
  expect(rows).toEqual([{ first_day: '2024-01-10', next_token: 'a token' }]);
});

it.skipIf(isMoved)('a stop ends the wait for a locked warehouse', async ({ db, folder }) => {
  const path = await folder.write('many.ndjson', manyRecords(3));
  await setAsOfDelay(db, 2_000);
  const stop = new AbortController();
  await db.transaction().execute(async (trx) => {
    await sqlIn(trx)`lock table gmsi.headlines in access exclusive mode`;
    const running = runImport(db, [path], { stated: statedOfMany, stop: stop.signal });
    const waiting = async () =>
      (
        await sqlIn(trx)<{ many: number }>`
          select count(*)::int as many from pg_locks join pg_database d on d.oid = database
          where not granted and datname = current_database()`
      )[0]!.many;
    await expect.poll(waiting).toBeGreaterThan(0);
    stop.abort();
    expect(await running).toMatchObject({ outcome: 'interrupted', loaded: 0 });
  });
  expect(await countRows(db, 'headlines')).toBe(0);
  expect(await runImport(db, [path], { stated: statedOfMany })).toMatchObject({ outcome: 'done', loaded: 1 });
});

/** Archives that are point in time by themselves: one for each week, with what was known at its end. */

const first = '2024-01-10T00:00:00Z';
const second = '2024-01-17T00:00:00Z';
const stated = { feed: 'gmsi-headlines', country: 'US', topic: 'Wars', matchType: 'COMBINED' };

function archive(...records: [id: number, time: string, score: number][]): string {
  return records
    .map(([id, publication_time, directional_score]) =>
      JSON.stringify({
        id: `00000000-0000-4000-8000-00000000000${id}`,
        publication_time,
        headline: `Headline ${id}`,
        directional_score,
      }),
    )
    .join('\n');
}

const firstWeek = archive([1, '2024-01-03T10:00:01Z', 0.1], [2, '2024-01-04T10:00:01Z', 0.2]);
const bothWeeks = archive(
  [1, '2024-01-03T10:00:01Z', 0.9],
  [2, '2024-01-04T10:00:01Z', 0.2],
  [3, '2024-01-04T11:00:01Z', 0.5],
  [4, '2024-01-11T10:00:01Z', 0.4],
);

async function sumAt(db: Warehouse, moment: string): Promise<object | undefined> {
  const rows = await sqlIn(db)<object>`
    select headline_count as count, round(sentiment_sum::numeric, 3)::float8 as sum
    from gmsi.signals(array[${moment}::timestamptz], 'US', 'Wars', over => '30 days')`;
  return rows[0];
}

async function heldAt(db: Warehouse, moment: string): Promise<string[]> {
  const rows = await sqlIn(db)<{ row: string }>`
    select right(headline_id::text, 1) || ' ' || directional_score as row
    from gmsi.headlines_as_of(${moment}::timestamptz) order by 1`;
  return rows.map(({ row }) => row);
}

describe('an archive that says when everything in it was known', () => {
  it('is loaded as if that were now: late and changed headlines count from then', async ({ db, folder }) => {
    const days = { from: '2024-01-01', to: '2024-01-14' };
    for (const [name, content, knownAt] of [
      ['1.ndjson', firstWeek, first],
      ['2.ndjson', bothWeeks, second],
    ] as const)
      expect(
        await runImport(db, [await folder.write(name, content)], { stated, days, knownAt }),
      ).toMatchObject({ outcome: 'done' });

    // Headline 3 came late, and headline 1 was rescored.
    expect(await sumAt(db, '2024-01-05T00:00:00Z')).toEqual({ count: 2, sum: 0.3 });
    expect(await sumAt(db, '2024-01-16T23:59:59Z')).toEqual({ count: 3, sum: 0.7 });
    expect(await sumAt(db, '2024-01-17T00:00:01Z')).toEqual({ count: 4, sum: 2 });
    expect(await heldAt(db, '2024-01-09T00:00:00Z')).toEqual([]);
    expect(await heldAt(db, '2024-01-12T00:00:00Z')).toEqual(['1 0.1', '2 0.2']);
    expect(await heldAt(db, '2024-01-18T00:00:00Z')).toEqual(['1 0.9', '2 0.2', '3 0.5', '4 0.4']);
    // Days that could still change by then are not covered.
    const rows = await sqlIn(db)`select days::text from gmsi.coverage`;
    expect(rows).toEqual([{ days: '{[2024-01-01,2024-01-14)}' }]);
    const loads = await sql`select reason from gmsi.loads order by load_id`.execute(db);
    expect(loads.rows).toEqual(
      [first, second].map((at) => ({ reason: `known at ${at}, as stated (--known-at)` })),
    );
  });

  it('replaces nothing that was stored since', async ({ db, folder }) => {
    await runImport(db, [await folder.write('now.ndjson', firstWeek)], { stated });
    await runImport(db, [await folder.write('2.ndjson', bothWeeks)], { stated, knownAt: second });
    expect(await heldAt(db, new Date().toISOString())).toEqual(['1 0.1', '2 0.2', '3 0.5', '4 0.4']);
  });

  it('is refused if it has a headline that was published later', async ({ db, folder }) => {
    const result = await runImport(db, [await folder.write('2.ndjson', bothWeeks)], {
      stated,
      knownAt: first,
    });
    expect(result).toMatchObject({ outcome: 'incomplete', covered: { series: 0 } });
    expect(result.refused).toEqual([
      expect.objectContaining({
        why: `has a record of 2024-01-11T10:00:01.000Z, so not all of it was known at ${first}`,
      }),
    ]);
    expect(await heldAt(db, new Date().toISOString())).toEqual([]);
  });

  it('is refused if what is known at a moment with a name would change', async ({ db, folder }) => {
    const named = { name: 'paper', at: '2024-01-12T00:00:00Z', note: undefined, takenBy: 'me' };
    await nameMoment(db, named);
    const path = await folder.write('1.ndjson', firstWeek);
    await expect(runImport(db, [path], { stated, knownAt: first })).rejects.toThrow(
      `--known-at ${first} is before the moment paper, and would change what was known then.`,
    );
    expect(await runImport(db, [path], { stated, knownAt: second })).toMatchObject({ outcome: 'done' });
  });
});
