import type { FastifyReply } from 'fastify';
import { sendBody } from '../answer.ts';
import { dayOf } from '../days.ts';
import { stringifyDrifted } from '../faults/drift.ts';
import type { Fault } from '../faults/fault.ts';
import { spoilRecords } from '../faults/spoil-records.ts';
import type { FeedItem, Series } from '../feeds/feed.ts';
import type { Service } from '../service.ts';

/** Sends records of a feed without a cursor, with the request's fault, and counts them. */
export function sendRecords(
  service: Service,
  reply: FastifyReply,
  items: readonly FeedItem[],
  bodyOf: (records: readonly unknown[]) => unknown,
): void {
  const { fault } = reply.request;
  const records = items.map((item) => item.toWire());
  const sent = fault === null ? records : spoiled(service, fault, records);
  const body = bodyOf(sent);
  const text = fault === null ? JSON.stringify(body) : stringifyDrifted(body);
  const isComplete = sendBody(reply, Buffer.from(text), fault);
  if (isComplete) service.counts.pageServed(null, sent.length);
}

/** Returns the items of a series between two moments, inclusive, newest first. */
export function itemsBetween({ itemsOfDay }: Series, from: number, to: number): FeedItem[] {
  const items: FeedItem[] = [];
  for (let day = dayOf(to); day >= dayOf(from); day--) {
    for (const item of itemsOfDay(day).toReversed()) {
      if (item.publishedAt >= from && item.publishedAt <= to) items.push(item);
    }
  }
  return items;
}

function spoiled(service: Service, fault: Fault, records: readonly unknown[]): readonly unknown[] {
  const sent = spoilRecords(fault, records);
  if (sent !== records) service.counts.faultServed(fault.kind);
  return sent;
}
