import { ConfigError } from '../errors.ts';
import { nearest } from '../nearest.ts';
import type { Check } from './check-file.ts';

/** A number that a check compares with and that a user may tune. */
export interface CheckSetting {
  readonly name: string;
  readonly value: number;
  /** What it means; empty where the file does not say. */
  readonly meaning: string;
}

/** `0.02`, `-1`, `1e-9` */
const number = /-?\d+(?:\.\d+)?(?:e-?\d+)?/.source;
const settingPattern = new RegExp(`^([a-z]\\w*)\\s*=\\s*(${number})(?:,\\s*(.+))?$`);
const changePattern = new RegExp(`^(?:([\\w-]+)\\.)?(\\w+)=(${number})$`);

/** Reads `name = number, what it means`; `undefined` where it is written otherwise. */
export function readSetting(text: string): CheckSetting | undefined {
  const [, name, value, meaning = ''] = settingPattern.exec(text) ?? [];
  return name === undefined ? undefined : { name, value: Number(value), meaning };
}

/** A setting as somebody wants it for one run, in every check that has it, or in one. */
interface Change {
  readonly check: string | undefined;
  readonly name: string;
  readonly value: number;
}

/**
 * Checks with their settings as somebody wants them for this run.
 * @param changes `name=number` for every check that has the setting, `check.name=number` for one; later ones win
 * @throws ConfigError naming the nearest setting there is
 */
export function withSettings(checks: readonly Check[], changes: readonly string[]): Check[] {
  const wanted = changes.map(readChange);
  for (const change of wanted) {
    const isMeant = (check: Check) => check.settings.some(({ name }) => concerns(change, check, name));
    if (!checks.some(isMeant)) throw unknownSetting(checks, change);
  }
  return checks.map((check) => ({
    ...check,
    settings: check.settings.map((setting) => {
      const change = wanted.findLast((one) => concerns(one, check, setting.name));
      return change ? { ...setting, value: change.value } : setting;
    }),
  }));
}

function readChange(text: string): Change {
  const [, check, name, value] = changePattern.exec(text) ?? [];
  if (name !== undefined) return { check, name, value: Number(value) };
  throw new ConfigError(`--set takes name=number, not "${text}".`, {
    hint: 'For instance --set tolerance=0.05, or --set score-sums.tolerance=0.05 for one check.',
  });
}

function concerns(change: Change, check: Check, setting: string): boolean {
  return change.name === setting && (change.check ?? check.name) === check.name;
}

function unknownSetting(checks: readonly Check[], { check, name }: Change): ConfigError {
  const written = check === undefined ? name : `${check}.${name}`;
  const known = checks.flatMap((one) =>
    one.settings.map((setting) => (check === undefined ? setting.name : `${one.name}.${setting.name}`)),
  );
  const meant = nearest(written, known);
  return new ConfigError(`No check has a setting "${written}".`, {
    hint: `${meant === undefined ? '' : `Did you mean ${meant}? `}gmsi check --list names them all.`,
  });
}
