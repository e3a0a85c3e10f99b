import { openWarehouse } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { catalog } from '../feeds/catalog.ts';
import type { FeedTable } from '../feeds/feed.ts';
import { type Explanation, idColumn, provenanceOf } from '../questions/provenance.ts';
import { printResult } from '../terminal/print.ts';
import { count, daysFrom, facts, nextStep, table } from '../terminal/table.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

const define = (why: Command) =>
  why
    .argument('<id>', "headline_id, or the row's id in another feed")
    .addHelpText('after', examples('gmsi why 5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22'));

/** `gmsi why <id>`: shows which load and request loaded a row, its versions, and whether it was retracted; sends no request. */
export const why = gmsiCommand({ define }, async (session, id) => {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    throw new ConfigError(`"${id}" is not an id.`, {
      hint: 'gmsi why takes the headline_id of a row, such as 5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22.',
    });
  await using warehouse = await openWarehouse(session);
  const tables = new Map([...catalog.values()].map((feed) => [feed.table.name, feed.table]));
  const found: Found[] = [];
  for (const one of tables.values()) {
    const rows = new Map<string, Explanation[]>();
    for (const version of await provenanceOf(warehouse.patient, one, id)) {
      const key = JSON.stringify(keyValues(one, version.version));
      rows.set(key, [...(rows.get(key) ?? []), version]);
    }
    for (const versions of rows.values()) found.push({ table: one, versions });
  }
  printResult(session, { id, rows: found.map(asJson) }, () =>
    found.length === 0
      ? `No row has or ever had the id ${id}.\n${nextStep('status')}`
      : `${found.map(describe).join('\n\n')}\n${nextStep(`psql -c "${sqlOf(found[0]!, id)}"`)}`,
  );
});

/** Describes a row in all its versions. */
interface Found {
  readonly table: FeedTable;
  readonly versions: readonly Explanation[];
}

/** What identifies a row besides its id. */
function keyValues(table: FeedTable, version: Explanation['version']) {
  const columns = [...table.series, ...table.key].filter((column) => column !== idColumn(table));
  return columns.map((column) => version[column] ?? null);
}

function asJson({ table, versions }: Found) {
  const { retracted_at } = versions.at(-1)!.version;
  return { table: `gmsi.${table.name}`, stands: retracted_at === null, versions };
}

function sqlOf({ table }: Found, id: string): string {
  return `select * from gmsi.${table.name} where ${idColumn(table)} = '${id}'`;
}

function describe({ table: of, versions }: Found): string {
  const last = versions.at(-1)!;
  const { version } = last;
  const about = facts([
    ['row of', `gmsi.${of.name}`],
    ['key', keyValues(of, version).filter(Boolean).join(' · ')],
    ['headline', version.headline],
    ['source', version.source],
    ['standing', standingOf(versions)],
  ]);
  const scores = Object.keys(of.columns).filter((column) =>
    /_score$|^impact$|^headline_count$|^model_version$/.test(column),
  );
  const rows = versions.map((one, at) => [
    moment(one.known_from),
    whatHappened(versions, at),
    ...scores.map((column) => one.version[column] ?? null),
    String(one.load_id),
    [one.command, one.job].filter(Boolean).join(' '),
    // Rows from the live feed, from a file and from a repair have none.
    one.version.window_id === null ? null : String(one.version.window_id),
  ]);
  const heads = scores.map((column) => column.replace(/_score$/, ''));
  const head = ['known from (UTC)', 'what happened', ...heads, 'load', 'by', 'window'];
  const versionsTable = table(head, rows, { least: ['window', 'load'] });
  const readings = facts([...new Map(versions.flatMap(broughtBy))]);
  const reasons = facts([...new Map(versions.map(({ load_id, reason }) => [`load ${load_id}`, reason]))]);
  return [about, versionsTable, readings, reasons].filter(Boolean).join('\n\n');
}

function standingOf(versions: readonly Explanation[]): string {
  const { version, known_from } = versions.at(-1)!;
  if (version.retracted_at === null) return `current, in this version since ${moment(known_from)} UTC`;
  const hasMoved = versions.at(-2)?.replaced_because === 'moved';
  return hasMoved
    ? `moved ${moment(known_from)} UTC: the service returned it with another publication time, which has its own row`
    : `retracted ${moment(known_from)} UTC: the service no longer returned it`;
}

function whatHappened(versions: readonly Explanation[], at: number): string {
  if (at > 0) return versions[at - 1]!.replaced_because ?? '';
  const [{ version, command }] = versions as [Explanation];
  if (version.moved_from) return `moved from ${moment(String(version.moved_from))}`;
  if (command === 'import') return 'imported';
  return version.is_backfilled ? 'loaded with its day' : 'first seen';
}

/** Describes what brought a version, after its name; nothing if it is not known any more. */
function broughtBy({ files, series, source, ...of }: Explanation): (readonly [string, string])[] {
  if (files.length > 0) {
    const more = files.length > most ? ` and ${count(files.length - most, 'other')}` : '';
    return [[`files of load ${of.load_id}`, files.slice(0, most).join(', ') + more]];
  }
  if (!series || !source) return [];
  const told = [
    catalog.get(series.feed)?.path(series),
    of.first_day && of.last_day && daysFrom(of.first_day, of.last_day),
    of.asked_at && `requested ${moment(of.asked_at)} UTC`,
    of.completed_at ? `complete ${moment(of.completed_at)} UTC` : 'not complete yet',
  ];
  return [[`${source} ${of.reading_id}`, told.filter(Boolean).join(', ')]];
}

/** Files that are named. */
const most = 5;

function moment(at: string): string {
  return at.slice(0, 19).replace('T', ' ');
}
