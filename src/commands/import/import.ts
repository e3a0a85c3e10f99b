import { keepThisProcess, openWarehouse } from '../../compose.ts';
import { readMoment } from '../../config/read-moment.ts';
import { exitCodeOfOutcome } from '../../exit.ts';
import { statedDays } from '../../import/file-days.ts';
import { type ImportResult, importFiles } from '../../import/import-files.ts';
import type { ImportProgress } from '../../import/load-files.ts';
import { day } from '../../terminal/arguments.ts';
import { printResult, snakeCased } from '../../terminal/print.ts';
import { showSteps } from '../../terminal/progress.ts';
import { count, duration, number } from '../../terminal/table.ts';
import { type Command, examples, gmsiCommand } from '../command.ts';
import { describeImport } from './import-summary.ts';

const define = (files: Command) =>
  files
    .argument('<file...>', 'files, folders and ZIP files')
    .option('--feed <feed>', 'feed of the records, if file names do not show it')
    .option('--country <code>', 'country, if neither folders (country=US) nor records show it')
    .option('--topic <name>', 'topic, if neither folders (topic_name=…) nor records show it')
    .option('--ticker <code>', 'ticker, if neither file names (…_BZ_COM.zip) nor records show it')
    .option('--match-type <type>', 'match type, if folders (match_type=…, index_type=…) do not show it')
    .option(
      '--from <day>',
      'first day (UTC) the files contain in full; days from --from to --to count as covered',
      day,
    )
    .option('--to <day>', 'last day (UTC) the files contain in full', day)
    .option('--known-at <moment>', 'when everything in the files was known, if they are point in time')
    .addHelpText(
      'after',
      examples(
        'gmsi import archives',
        'gmsi import asset_headlines_BZ_COM.zip --match-type COMBINED',
        'gmsi import us.csv --feed gmsi-headlines --match-type COMBINED',
      ),
    );

/** `gmsi import <file|folder|zip>…`: loads bulk archives and files of records; sends no request. */
const command = gmsiCommand(
  { define, schemaUse: 'upgrades' },
  async (session, paths, { from, to, knownAt, ...given }) => {
    const days = statedDays(from, to);
    const { feed, country, topic, ticker, matchType } = given;
    await using warehouse = await openWarehouse(session);
    await using process = await keepThisProcess(session, warehouse.patient, 'import');
    const { log, clock, stop, progress: view } = session;
    using steps = showSteps(log, view);
    const startedAt = performance.now();
    const result = await importFiles({
      warehouse: warehouse.patient,
      paths,
      days,
      knownAt: knownAt && readMoment('--known-at', knownAt, clock()),
      stated: { feed, country, topic, ticker, matchType },
      log,
      clock,
      stop,
      process,
      onProgress: (progress) => steps.show(() => step(progress, (performance.now() - startedAt) / 1000)),
    });
    steps[Symbol.dispose]();
    const absent = Object.fromEntries(result.absent);
    const document = snakeCased({ ...result, loads: result.loads.map(loadAsJson), absent });
    printResult(session, document, () => describeImport(result, days, clock()));
    return exitCodeOfOutcome(result.outcome);
  },
);

export { command as import };

function loadAsJson({ rejectedValues, ...load }: ImportResult['loads'][number]) {
  return { ...load, rejectedValues: Object.fromEntries(rejectedValues) };
}

/** `import  34%  3 min 20 s left  12/40 files  1,234,567 records` */
function step({ done, all, bytes, records }: ImportProgress, seconds: number): string {
  // What is read has still to be written.
  const share = done === all ? 1 : Math.min(0.99, bytes.done / bytes.all);
  const left = (seconds / bytes.done) * (bytes.all - bytes.done);
  return [
    'import',
    `${Math.floor(100 * share)}%`,
    share > 0.02 && share < 1 ? `${duration(left)} left` : '',
    `${number(done)}/${count(all, 'file')}`,
    `${number(records)} records`,
  ]
    .filter((text) => text !== '')
    .join('  ');
}
