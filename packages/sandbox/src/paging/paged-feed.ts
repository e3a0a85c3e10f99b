import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendBody } from '../answer.ts';
import type { Day, DayRange } from '../days.ts';
import { applyPageFault } from '../faults/apply-page-fault.ts';
import { stringifyDrifted } from '../faults/drift.ts';
import { type Fault, PAGE_FAULTS } from '../faults/fault.ts';
import type { FeedItem, PagedFeed } from '../feeds/feed.ts';
import type { SandboxSettings } from '../options.ts';
import { comparePositions, type Position } from '../position.ts';
import { Refusal } from '../refusal.ts';
import { isObject, type Query, queryOf, type Service } from '../service.ts';
import { type View, viewOf } from '../view.ts';
import { byDayOf } from '../zone.ts';
import type { Cursor } from './cursor.ts';
import type { ServedPage } from './page-cache.ts';
import { readLimit, readRange } from './parameters.ts';

/** A checked request to a feed. */
interface Question {
  /** Everything that a cursor is bound to: the same for all requests of one drain. */
  readonly binding: string;
  readonly range: DayRange;
  readonly limit: number;
  readonly view: View;
  /** Returns everything that the feed serves now for a day of the view's zone, oldest first, equal times by id. */
  readonly itemsOfDay: (day: Day) => readonly FeedItem[];
}

/** Answers a feed's route with pages. */
export function servePagedFeed(app: FastifyInstance, service: Service, feed: PagedFeed): void {
  const handler = (request: FastifyRequest, reply: FastifyReply) => {
    if (feed.method === 'POST' && !isObject(request.body)) {
      throw new Refusal(422, [{ type: 'json_invalid', loc: ['body'], msg: 'JSON decode error' }]);
    }
    const query = queryOf(request);
    const question = ask(service, feed, request.params as Record<string, string>, query);
    const token = query.next_token ?? null;
    const page = answer(service, question, token, request.fault);
    if (page.nextToken !== null) service.faults.noteSuccessor(token, page.nextToken);
    const isComplete = sendBody(reply, page.body, request.fault);
    if (isComplete) service.counts.pageServed(`${question.binding} ${token}`, page.records);
    return reply;
  };
  app.route({ method: feed.method, url: feed.route, config: { feed: 'paged' }, handler });
}

function ask(
  { settings }: Service,
  feed: PagedFeed,
  params: Readonly<Record<string, string>>,
  query: Query,
): Question {
  const view = viewOf(settings, settings.historicalDelayMinutes);
  const series = feed.series(params, query, view);
  const limit = readLimit(query);
  return {
    // Uses the dates as sent, because a default that changes at midnight must not break a cursor.
    binding: JSON.stringify([feed.name, ...series.asked, limit, query.start_date, query.end_date]),
    range: readRange(query, settings, feed.historyLimitDays?.(settings) ?? null),
    limit,
    view,
    itemsOfDay: byDayOf(view.zone, series.itemsOfDay),
  };
}

function answer(service: Service, question: Question, token: string | null, fault: Fault | null): ServedPage {
  const start: Cursor = { after: null, hops: 0 };
  const cursor = token === null ? start : service.cursors.open(token, question.binding);
  if (fault !== null && PAGE_FAULTS.has(fault.kind)) {
    return composePage(service, question, cursor, token, fault);
  }
  if (!isSettled(service, question)) return composePage(service, question, cursor, token, null);
  const key = `${question.binding} ${question.range.first} ${question.range.last} ${token}`;
  const kept = service.cache.get(key);
  if (kept !== undefined) return kept;
  const page = composePage(service, question, cursor, token, null);
  service.cache.keep(key, page);
  return page;
}

/** Returns true if the same request will always get the same bytes. */
function isSettled({ settings }: Service, { range, view }: Question): boolean {
  const { late, revised, withdrawn } = settings.changes;
  const changesNothing = late + revised + withdrawn === 0 && settings.tokenLifetimeMs === null;
  return changesNothing && range.last < view.zone.dayOf(view.now);
}

function composePage(
  service: Service,
  question: Question,
  cursor: Cursor,
  token: string | null,
  fault: Fault | null,
): ServedPage {
  const seal = (next: Cursor) => service.cursors.seal(next, question.binding);
  const { settings } = service;
  const { items, hasMore: isCut } = selectPage(question, settings.order, cursor.after);
  const last = items.at(-1);
  const page = {
    records: items.map((item) => item.toWire()),
    nextToken: isCut && last !== undefined ? seal({ after: last, hops: 0 }) : null,
    hasMore: isCut,
  };
  const sent =
    fault === null
      ? page
      : applyPageFault(fault, page, {
          token,
          tokenBefore: service.faults.predecessorOf(token),
          sameAgain: () => seal({ after: cursor.after, hops: cursor.hops + 1 }),
        });
  if (fault !== null && sent !== page) service.counts.faultServed(fault.kind);
  const { records, hasMore, nextToken } = sent;
  const envelope = { data: records, limit: question.limit, has_more: hasMore, next_token: nextToken };
  const text = fault === null ? JSON.stringify(envelope) : stringifyDrifted(envelope);
  return { body: Buffer.from(text), records: records.length, nextToken };
}

/** Returns the next `limit` items after a position. Reads only the days it needs, from the position's own day on. */
function selectPage(
  { range, limit, view, itemsOfDay }: Question,
  order: SandboxSettings['order'],
  after: Position | null,
) {
  const step = order === 'oldest-first' ? 1 : -1;
  const [begin, end] = step === 1 ? [range.first, range.last] : [range.last, range.first];
  const items: FeedItem[] = [];
  let day = after === null ? begin : view.zone.dayOf(after.publishedAt);
  for (; (end - day) * step >= 0; day += step) {
    const ofDay = itemsOfDay(day);
    for (const item of step === 1 ? ofDay : ofDay.toReversed()) {
      if (after !== null && comparePositions(item, after) * step <= 0) continue;
      if (items.length === limit) return { items, hasMore: true };
      items.push(item);
    }
  }
  return { items, hasMore: false };
}
