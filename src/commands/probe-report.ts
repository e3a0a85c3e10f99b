import { describeValue, type FactName, type FactValue } from '../probe/fact.ts';
import type { Lesson } from '../probe/learn.ts';
import type { ProbeReport } from '../probe/probe-service.ts';
import { count, table } from '../terminal/table.ts';

/** A table for a person. */
export function describeProbe({ feed, series, requests, lessons }: ProbeReport): string {
  const about = series ? Object.values(series).filter((part) => part !== '') : [];
  const rows = lessons.map(({ fact, standing, value, evidence, before }) => [
    fact.replaceAll('_', ' '),
    value === null
      ? before
        ? `${describeLearned(fact, before.value)} (stays)`
        : '?'
      : describeLearned(fact, value),
    standing,
    evidence,
  ]);
  return `\n${[feed.name, ...about].join(', ')}: ${count(requests, 'request')}\n${[table(['fact', 'value', '', 'by'], rows), ...adviceOn(lessons)].join('\n')}\n`;
}

/** The same as JSON; values are as the warehouse holds them. */
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

/** What has changed, from what to what, and what to do about it. */
export function describeChange({ fact, value, before }: Lesson): { found: string; fix: string } {
  const [was, is] = [describeLearned(fact, before!.value), describeLearned(fact, value!)];
  const since = before!.learnedAt.toISOString().slice(0, 10);
  const reload =
    before!.value === 'inclusive'
      ? ` What was loaded since ${since} may lack each window's last day: gmsi backfill <job> --full-refresh.`
      : '';
  return {
    found: `${fact}, from "${was}" (learned ${since}) to "${is}"`,
    fix: `What was learned stays in force. If the service did change: gmsi doctor --probe --accept.${reload}`,
  };
}

function describeLearned(fact: FactName, value: FactValue): string {
  if (fact !== 'day_begin' || typeof value === 'string' || !('least' in value)) return describeValue(value);
  const { least, most } = value;
  if (least <= 0 && most >= 0) return "0:00 of the records' times";
  const [from, to] = [Math.abs(least) / 60, Math.abs(most) / 60].sort((a, b) => a - b);
  return `${from} to ${to} h ${least < 0 ? 'before' : 'after'} 0:00 of the records' times`;
}

/** What follows for a person from what is known now. */
function adviceOn(lessons: readonly Lesson[]): string[] {
  const known = new Map(
    lessons.map(({ fact, standing, value, before }) => [
      fact,
      standing === 'changed' ? before!.value : (value ?? before?.value),
    ]),
  );
  const advice: string[] = [];
  const endDate = known.get('end_date');
  if (endDate === 'inclusive' || endDate === 'exclusive') {
    advice.push(`Jobs of this feed that leave service.end_date unknown read it as ${endDate} from now on.`);
  }
  const limit = known.get('history_limit');
  if (typeof limit === 'object' && 'answered' in limit && limit.refused !== null) {
    advice.push(
      `Jobs of this feed without history_limit ask for nothing up to ${limit.refused} from now on; if other series reach further back, set it.`,
    );
  }
  const zone = known.get('time_zone');
  if (typeof zone === 'object' && 'least' in zone && (zone.least > 0 || zone.most < 0)) {
    advice.push(
      `Times without a zone are loaded as if in UTC, but are in ${describeValue(zone)}: published_at is off by as much.`,
    );
  }
  const page = known.get('page_size');
  const [, taken] = typeof page === 'string' ? (/^refused, (\d+)/.exec(page) ?? []) : [];
  if (taken)
    advice.push(`Set service.page_size: ${taken} in the jobs, or each of their requests is refused.`);
  return advice;
}
