import type { Days } from '../../import/file-days.ts';
import { type CutFile, type ImportResult, settlingDays } from '../../import/import-files.ts';
import { firstUnsettledDayAt } from '../../plan/days.ts';
import { asTyped, count, counts, daysFrom, duration, facts, nextStep, number } from '../../terminal/table.ts';
import { oneLine } from '../../terminal/text.ts';
import { describeRejected } from '../load-summary.ts';

/** How many names are printed; `--json` has them all. */
const shown = 20;

/**
 * Describes the result of an import for a person.
 * @param stated the days that the user has stated
 */
export function describeImport(result: ImportResult, stated: Days | undefined, now: Date): string {
  const { loads, loaded, loadedBefore, refused, cut, outcome, outside, covered, withoutDays, seconds } =
    result;
  const sum = (name: 'records' | 'rows_inserted' | 'rows_changed' | 'records_rejected') =>
    loads.reduce((total, { totals }) => total + totals[name], 0);
  const records = sum('records');
  const rejected = sum('records_rejected');
  const [fresh, changed] = [sum('rows_inserted'), sum('rows_changed')];
  const lines = facts([
    ['feed', loads.map(({ feed }) => feed).join(', ')],
    ['files', counts([loaded, 'loaded'], [loadedBefore, 'loaded before'], [refused.length, 'refused'])],
    ['older', some(result.superseded.length, 'archive', 'skipped: a newer version is there')],
    ['ignored', some(result.ignored.length, 'file', 'without records by name')],
    ['requests', 0],
    ['records', records],
    [
      'rows',
      counts(
        [fresh, 'new'],
        [changed, 'changed'],
        [records - fresh - changed - rejected, 'already loaded, or older than the loaded version'],
      ),
    ],
    ['rejected', describeRejected(rejected, loads)],
    ['absent', describeAbsent(result)],
    [
      'other days',
      some(outside, 'record', "of other days than --from and --to, or the file's name, say; loaded"),
    ],
    [
      'covered',
      covered.series > 0 ? `${count(covered.days, 'day')} of ${number(covered.series)} series` : 'nothing',
    ],
    [
      'not covered',
      withoutDays > 0
        ? `${count(withoutDays, 'file')}, because their days are not stated or are too recent`
        : null,
    ],
    ['more rows', describeMoreRows(result)],
    ['recent days', recentOf(stated, now)],
    ['time', `${duration(seconds)}, ${number(Math.round(records / seconds))} records/s`],
  ]);
  const refusals = firstOf(
    refused,
    ({ name, line, why }) => `refused: ${name}${line === null ? '' : `, line ${number(line)}`}: ${why}`,
  );
  const blocks = [
    headline(result),
    lines,
    refusals,
    refused.length > 0 && repairRefused,
    firstOf(cut, describeCut),
    result.moreRows.days > 0 && loadAgain,
    covered.series === 0 && withoutDays > 0 && outcome === 'done' && stateDays,
  ];
  return `${blocks.filter(Boolean).join('\n\n')}\n${outcome === 'done' ? nextStep('status') : ''}`;
}

const repairRefused =
  'A refused file leaves its series uncovered, or every series if it is not known whose records it has. ' +
  'Repair the file or leave it out, and run it again; nothing is loaded twice.';
const stateDays =
  'A backfill requests these days again. If the files contain all records of some days, run it again with --from and --to: ' +
  'nothing is loaded twice.';

const loadAgain =
  'A file never removes rows, so these stay. To keep only what the service still has of these days, load them from it: ' +
  `${asTyped('backfill <job> --full-refresh --from <day> --to <day>')}`;

function firstOf<Item>(items: readonly Item[], describe: (item: Item) => string): string {
  const lines = items.slice(0, shown).map((item) => oneLine(describe(item)));
  if (items.length > shown) lines.push(`and ${number(items.length - shown)} more (--json lists all)`);
  return lines.join('\n');
}

function describeCut({ name, files, days, last, covered }: CutFile): string {
  const others = files > 1 ? ` and ${count(files - 1, 'other file')} of these days end` : ' ends';
  return (
    `${name}${others} on ${last}: the days after ${covered} are not counted as covered; if they had no news, ` +
    `import it again with --from ${days.from} --to ${days.to}`
  );
}

/** Describes the days of which files older than these, or the service, have left more rows. */
function describeMoreRows({ moreRows: { days, example } }: ImportResult): string | null {
  if (!example) return null;
  const { series, day, rows, records } = example;
  return `on ${count(days, 'day')} than the files have records (${series} ${day}: ${count(rows, 'row')}, ${count(records, 'record')})`;
}

function some(many: number, what: string, about: string): string | null {
  return many > 0 ? `${count(many, what)} ${about}` : null;
}

/** Describes columns of which no record of a file has a field: `url, source (in 1 file)`. */
function describeAbsent({ absent, loaded }: ImportResult): string | null {
  const columns = [...absent]
    .toSorted()
    .map(([column, files]) => (files === loaded ? column : `${column} (in ${count(files, 'file')})`));
  return columns.length > 0 ? `no record has a field for ${columns.join(', ')}` : null;
}

/** Describes the stated days that may still change, which do not count as covered. */
function recentOf(stated: Days | undefined, now: Date): string | undefined {
  const first = firstUnsettledDayAt(now, settlingDays);
  if (!stated || stated.to < first) return undefined;
  const from = stated.from > first ? stated.from : first;
  return `${daysFrom(from, stated.to)} may still change, so not covered yet; ${asTyped('sync')} loads what is recent`;
}

function headline({ outcome, refused }: ImportResult): string {
  if (outcome === 'interrupted') return 'import: interrupted; run it again to continue';
  if (outcome === 'incomplete')
    return `import: ${count(refused.length, 'file')} could not be loaded whole; everything else is loaded`;
  return 'import: done, every file is loaded';
}
