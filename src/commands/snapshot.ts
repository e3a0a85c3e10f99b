import { Option } from '@commander-js/extra-typings';
import { openWarehouse, runBy } from '../compose.ts';
import { readMoment } from '../config/read-moment.ts';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { printResult } from '../terminal/print.ts';
import { asTyped, tableOf } from '../terminal/table.ts';
import { databaseTime } from '../warehouse/health.ts';
import {
  forgetMoment,
  momentName,
  type NamedMoment,
  nameMoment,
  readMoments,
} from '../warehouse/tables/moments.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

const define = (snapshot: Command) =>
  snapshot
    .argument('[name]', 'letters, digits, - _ and .')
    .option('--at <moment>', 'a past moment, such as 2025-06-30T12:00:00Z (default: now)')
    .option('--note <text>', 'what it is for')
    .addOption(new Option('--remove', 'forget the name; the data stay').conflicts(['at', 'note']))
    .addHelpText('after', examples('gmsi snapshot paper-2026 --note "as submitted"', 'gmsi snapshot'));

/** `gmsi snapshot [name]`: gives a moment a name, or lists the named ones; sends no request. */
export const snapshot = gmsiCommand({ define }, async (session, name, { at, note, remove }) => {
  if (name === undefined && (at ?? note ?? remove) !== undefined)
    throw new ConfigError('--at, --note and --remove need a name.', {
      hint: 'For example: gmsi snapshot paper-2026',
    });
  if (name !== undefined && !momentName.test(name))
    throw new ConfigError(`"${name}" cannot be the name of a moment.`, {
      hint: 'Use up to 63 letters, digits, - _ and . and begin with a letter. For example: gmsi snapshot paper-2026',
    });
  await using warehouse = await openWarehouse(session);
  const db = warehouse.patient;
  if (name === undefined) {
    const moments = await readMoments(db);
    const none = `No moment has a name yet: ${asTyped('snapshot <name>')} names one.`;
    printResult(session, { moments }, () => `${listed(moments) || none}\n`);
    return;
  }
  if (remove) {
    const moments = await readMoments(db);
    if (!moments.some((one) => one.name === name)) throw unknownMoment(name, moments);
    await forgetMoment(db, name);
    printResult(session, { removed: name }, () => `${name} is removed. The data are as before.\n`);
    return;
  }
  const moment = at === undefined ? undefined : readMoment('--at', at, await databaseTime(db));
  const taken = await nameMoment(db, { name, at: moment, note, takenBy: runBy });
  if (!taken)
    throw new ConfigError(`${name} is the name of a moment already.`, {
      hint: `Take another name. gmsi snapshot lists them. To free this one: gmsi snapshot ${name} --remove`,
    });
  const uses = `In SQL: gmsi.headlines_as_of(gmsi.moment('${name}')). In files: ${asTyped(`export --as-of ${name}`)}`;
  printResult(session, taken, () => `${listed([taken])}\n\n${uses}\n`);
});

export function unknownMoment(name: string, moments: readonly NamedMoment[]): ConfigError {
  const names = moments.map((one) => one.name);
  const hint =
    names.length === 0 ? 'No moment has a name yet: gmsi snapshot names one.' : knownNames(name, names);
  return new ConfigError(`No moment is named ${name}.`, { hint });
}

function listed(moments: readonly NamedMoment[]): string {
  return tableOf(moments, {
    name: 'name',
    'moment (UTC)': 'at',
    taken: ({ taken_at }) => taken_at.toISOString().slice(0, 10),
    note: 'note',
  });
}
