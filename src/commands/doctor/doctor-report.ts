import { typed } from '../../config/typed.ts';
import { ConfigError, GmsiError } from '../../errors.ts';
import { catalog } from '../../feeds/catalog.ts';
import { worthAWarning } from '../../load/clocks.ts';
import { inPackage } from '../../package.ts';
import { describeValue } from '../../probe/fact.ts';
import type { Lesson, ProbeReport } from '../../probe/probe-service.ts';
import { describeDifferences, missingFrom } from '../../service/description.ts';
import { KeyRefused } from '../../service/errors.ts';
import { styled } from '../../terminal/style.ts';
import { count, sayingAsTyped, table } from '../../terminal/table.ts';
import { oneLine } from '../../terminal/text.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import { namedDatabaseError, takesNoWrites } from '../../warehouse/errors.ts';
import {
  clockDifference,
  compiledLogins,
  isReadOnly,
  missingPrivileges,
  readStanding,
  tryWriting,
} from '../../warehouse/health.ts';
import { migrationStatus, missingParts } from '../../warehouse/migrate.ts';
import type { KeptDescription } from '../../warehouse/tables/learned.ts';

/** One line of the report. */
export interface Finding {
  readonly check: string;
  /** `null` if it could not be checked. */
  readonly ok: boolean | null;
  readonly found: string;
  /** What to do. With `ok`, it is a warning. */
  readonly fix?: string;
}

/** Something that cannot be checked now; the message says why. */
export class NotChecked extends Error {}

/** What a check found; for a warning, also what to do. */
type Told = string | Pick<Finding, 'found' | 'fix'>;

/** Runs one check; its result or its error becomes the line. @throws AbortError */
export async function finding(check: string, look: () => Promise<Told> | Told): Promise<Finding> {
  try {
    const told = await look();
    return { check, ok: true, ...(typeof told === 'string' ? { found: told } : told) };
  } catch (thrown) {
    const error = namedDatabaseError(thrown);
    if (error instanceof Error && error.name === 'AbortError') throw error;
    const found = error instanceof Error ? error.message : String(error);
    if (error instanceof NotChecked) return { check, ok: null, found: `not checked: ${found}` };
    const fix = error instanceof GmsiError ? error.hint : undefined;
    const name = error instanceof KeyRefused ? 'key' : check;
    return { check: name, ok: false, found, ...(fix && { fix }) };
  }
}

/** Writes a line for each finding, and below it what to do. */
export function describeFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const sign = ({ ok, fix }: Finding) => {
    if (ok === null) return styled('dim', '–');
    if (!ok) return styled('red', '✗');
    return fix ? styled('yellow', '!') : styled('green', '✓');
  };
  return findings
    .map((one) => {
      const { check, found, fix } = one;
      const line = `${sign(one)} ${check.padEnd(width)}  ${oneLine(sayingAsTyped(found))}\n`;
      return fix === undefined ? line : `${line}  ${' '.repeat(width)}  → ${oneLine(sayingAsTyped(fix))}\n`;
    })
    .join('');
}

/** How many missing privileges are named; a user without any lacks a hundred. */
const named = 3;

/** The checks of a warehouse that answers, in this order. */
export const warehouseChecks: Readonly<Record<string, (db: Warehouse) => Promise<Told>>> = {
  schema,
  privileges,
  space,
  logins,
  clock,
};

/** Returns true if a request can be booked there. */
export async function canBook(db: Warehouse): Promise<boolean> {
  try {
    const isMigrated = (await migrationStatus(db)).every(({ executedAt }) => executedAt);
    return isMigrated && (await missingPrivileges(db)).length === 0 && !(await isReadOnly(db));
  } catch {
    return false;
  }
}

async function schema(db: Warehouse): Promise<string> {
  const { may_migrate, may_read, owner } = await readStanding(db);
  if (!may_read) throw new NotChecked('the user may not read it; see privileges');
  const migrations = await migrationStatus(db);
  const waiting = migrations.filter(({ executedAt }) => !executedAt).length;
  if (waiting === migrations.length) return 'none yet: gmsi migrate creates it, or the first load';
  if (waiting === 0) {
    await refuseGone(db, owner!);
    return 'current';
  }
  const found = `${waiting} of ${migrations.length} migrations are not applied yet`;
  if (may_migrate) return `${found}: the next load does it`;
  throw new ConfigError(`${found}, and the user does not own it`, { hint: `As ${owner}: gmsi migrate` });
}

/** @throws ConfigError if somebody has dropped tables, columns or views */
async function refuseGone(db: Warehouse, owner: string): Promise<void> {
  const { tables, views } = await missingParts(db);
  const gone = [...tables, ...views];
  if (gone.length === 0) return;
  const restore = `Restore a backup (${inPackage('docs/deploying.md')}, "Backup and moving"), or load into an empty database: what they contained is lost.`;
  throw new ConfigError(`somebody has dropped ${firstOf(gone, ', ')}`, {
    hint: tables.length > 0 ? restore : `As ${owner}: gmsi migrate, which recreates views.`,
  });
}

/** Writes some megabytes, because a server with a full disk still answers. */
async function space(db: Warehouse): Promise<string> {
  if (await isReadOnly(db)) throw new NotChecked('the warehouse can only be read');
  if (!(await tryWriting(db))) throw new NotChecked('the user may not create temporary tables');
  return 'enough (4 MB were written)';
}

async function privileges(db: Warehouse): Promise<string> {
  const missing = await missingPrivileges(db);
  if (missing.length === 0) {
    if (await isReadOnly(db))
      throw new ConfigError('enough, but the warehouse can only be read', { hint: takesNoWrites });
    return 'enough to load';
  }
  const { user, database, owner, loader_role } = await readStanding(db);
  const found = `the user ${user} lacks ${firstOf(missing, ', ')}`;
  const grant = `grant gmsi_loader to ${user};`;
  if (owner === null) {
    const fix = `As the owner of the database: grant create on database ${database} to ${user};`;
    throw new ConfigError(found, { hint: `${fix} Or let the owner run gmsi migrate, and then: ${grant}` });
  }
  const fixes = {
    'not granted': `As ${owner}: ${grant} (or to read only: grant gmsi_reader to ${user};)`,
    granted: `As ${owner}: gmsi migrate, which grants gmsi_loader what it lacks.`,
    missing: `As ${owner}, who must be allowed to create roles: gmsi migrate. Then: ${grant}`,
  };
  throw new ConfigError(found, { hint: fixes[loader_role] });
}

async function logins(db: Warehouse): Promise<Told> {
  const names = await compiledLogins(db);
  if (names.length === 0) return 'JIT is off for every login that reads';
  return {
    found: `queries of ${firstOf(names, ', ')} may take minutes, because PostgreSQL compiles their plans (JIT)`,
    fix: names.map((name) => `alter role ${name} set jit = off;`).join(' '),
  };
}

async function clock(db: Warehouse): Promise<string> {
  const seconds = await clockDifference(db);
  if (Math.abs(seconds) * 1000 > worthAWarning)
    throw new ConfigError(`this machine is ${Math.round(seconds)} s off the warehouse's clock`, {
      hint: "Set both clocks by NTP: when rows were loaded and changed is by the database's.",
    });
  return `within ${Math.max(1, Math.ceil(Math.abs(seconds)))} s of the warehouse`;
}

/** For how long a change of the description is reported, in milliseconds. */
const reportedFor = 7 * 24 * 3_600_000;

/** Describes what the service says of itself: what changed in the last 7 days, else what gmsi sends that it does not name. */
export function describeDescription(
  [now, before]: readonly KeptDescription[],
  at: Date,
): Pick<Finding, 'found' | 'fix'> {
  const { facts, first_seen_at } = now!;
  const operations = Object.keys(facts).filter((name) => /^[A-Z]+ \S+$/.test(name)).length;
  const since = first_seen_at.toISOString().slice(0, 10);
  const about = `version ${facts.version}, ${count(operations, 'operation')}`;
  const changes =
    before && at.getTime() - first_seen_at.getTime() < reportedFor
      ? describeDifferences(before.facts, facts)
      : [];
  if (changes.length > 0)
    return {
      found: `${about}; changed ${since}: ${firstOf(changes, '; ')}`,
      fix: 'Compare the rows of gmsi.service_descriptions, and ask the vendor what the changes mean for your jobs.',
    };
  const missing = [...catalog.values()].flatMap((feed) => missingFrom(facts, feed));
  if (missing.length === 0)
    return { found: `${about}, unchanged since ${since}; it names all that gmsi sends` };
  return {
    found: `${about}, unchanged since ${since}; ${firstOf(missing, ', ')}`,
    fix: 'A job sets what gmsi sends instead: service.parameters, service.end_date, match_type.',
  };
}

function firstOf(texts: readonly string[], separator: string): string {
  const more = texts.length > named ? ` and ${texts.length - named} more` : '';
  return texts.slice(0, named).join(separator) + more;
}

/** Returns a table for a person. */
export function describeProbe({ feed, series, requests, lessons }: ProbeReport): string {
  const about = series ? Object.values(series).filter((part) => part !== '') : [];
  const rows = lessons.map(({ fact, standing, value, evidence, before }) => [
    fact.replaceAll('_', ' '),
    value === null ? (before ? `${describeValue(before.value)} (stays)` : '?') : describeValue(value),
    standing,
    evidence,
  ]);
  return `\n${[feed.name, ...about].join(', ')}: ${count(requests, 'request')}\n${table(['fact', 'value', '', 'by'], rows)}\n`;
}

/** Returns the same as JSON, with values as the warehouse stores them. */
export function probeAsJson({ feed, series, requests, lessons }: ProbeReport): object {
  return {
    feed: feed.name,
    series: series ?? null,
    requests,
    facts: lessons.map(({ before, ...lesson }) => ({
      ...lesson,
      before: before && { value: before.value, learnedAt: before.learnedAt.toISOString() },
    })),
  };
}

/** Reports the facts that a probe found to have changed, and what to do. @param job as named by --job */
export function changesIn({ lessons }: ProbeReport, job: string | undefined): Finding[] {
  return lessons.flatMap((lesson) =>
    lesson.standing === 'changed' || lesson.standing === 'replaced' ? describeChange(lesson, job) : [],
  );
}

function describeChange({ fact, standing, value, before }: Lesson, job: string | undefined): Finding {
  const [was, is] = [describeValue(before!.value), describeValue(value!)];
  const since = before!.learnedAt.toISOString().slice(0, 10);
  const isReplaced = standing === 'replaced';
  const accept = `gmsi doctor --probe --accept-changes${job === undefined ? '' : ` --job ${typed(job)}`}`;
  const fixes = [
    ...(isReplaced ? [] : [`The learned value stays in use. If the service really has changed: ${accept}`]),
    ...(before!.value === 'inclusive' && value === 'exclusive'
      ? [`Windows loaded since ${since} may lack their last day: gmsi backfill <job> --full-refresh`]
      : []),
  ];
  return {
    ...{ check: isReplaced ? 'replaced' : 'changed', ok: isReplaced },
    found: `${fact}, from "${was}" (learned ${since}) to "${is}"`,
    ...(fixes.length > 0 && { fix: fixes.join('. ') }),
  };
}
