import { expect, it } from 'vitest';
import type { Answer } from '../../src/probe/ask.ts';
import { inferZone } from '../../src/probe/infer-records.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const bounds = { reachHours: 24, fullPage: 1000 };

function anAnswer(writtenTimes: readonly (string | number)[]): Answer {
  const records = writtenTimes.map((writtenTime) => ({
    writtenTime,
    record: {},
    time: typeof writtenTime === 'number' ? writtenTime * 1000 : Date.parse(`${writtenTime.slice(0, 19)}Z`),
  }));
  return { records, count: records.length, nextToken: null, at };
}

const naive = anAnswer(['2026-11-01T10:00:00']);
const live = (...times: string[]) => ({ kind: 'answered', answer: anAnswer(times) }) as const;

it.each([
  '2026-05-21T13:00:00Z',
  '2026-05-21T13:00:00+00:00',
  '2026-05-21 13:00:00+05',
  '2026-05-21T13:00:00-0500',
  '2026-05-21 13:00:00 UTC',
  1_779_368_400,
  '1779368400',
])('%s says its zone', (written) => {
  expect(inferZone(anAnswer([written]), undefined, bounds)).toMatchObject({ value: 'stated' });
});

it.each([
  ['2026-11-19T12:05:00', '2026-11-20T11:55:00', { least: 0, most: 0 }],
  ['2026-11-19T17:35:00', '2026-11-20T17:25:00', { least: 330, most: 330 }],
  ['2026-11-19T07:35:00', '2026-11-20T06:50:00', { least: -300, most: -270 }],
])('times from %s to %s, at noon of 2026-11-20, lie %j from UTC', (oldest, newest, value) => {
  expect(inferZone(naive, live(newest, oldest), bounds)).toMatchObject({ value });
});

it.each([
  ['there is little of it', live('2026-11-20T06:00:00', '2026-11-20T01:00:00'), 'too little news'],
  ['it reaches further back', live('2026-11-20T11:55:00', '2026-11-18T12:00:00'), 'no zone fits'],
  ['it is empty', live(), 'had no record'],
  ['it is refused', { kind: 'refused', status: 404, words: 'Not Found' } as const, '404: Not Found'],
  ['there is none', undefined, 'no live feed'],
])('the live feed does not tell where %s', (_, reply, reason) => {
  expect(inferZone(naive, reply, bounds)).toEqual({ reason: expect.stringContaining(reason) });
});

it('a full page shows it by its newest record, since its oldest is not the oldest of the feed', () => {
  const times = Array.from({ length: 50 }, (_, minutes) =>
    new Date(at - minutes * 60_000).toISOString().slice(0, 19),
  );
  const found = inferZone(naive, live(...times), { reachHours: 24, fullPage: 50 });
  expect(found).toMatchObject({ value: { least: 0, most: 75 } });
});
