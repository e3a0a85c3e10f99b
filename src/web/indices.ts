import { z } from 'zod';
import { dayRange, daysIn } from '../plan/days.ts';
import {
  feedNews,
  feedSubjects,
  indexFeeds,
  indexOverTime,
  newsKinds,
  newsOverTime,
  subjectFeeds,
} from '../warehouse/questions/indices.ts';
import { by, endpoint, exactTime, period, score, text } from './endpoint.ts';

const feed = z.enum(indexFeeds);
const subject = text(200).describe('A country, a country’s name or a ticker, as the feed has it.');

const overTime = z
  .object({ subject, ...period, by })
  .refine(
    ({ from, to, by }) => by !== 'hour' || daysIn(dayRange(from, to)) <= 100,
    'By hour, at most 100 days.',
  );

export const indexEndpoints = [
  endpoint('feeds/subjects', 'What a feed is about: countries or assets', {
    takes: z.object({ feed: z.enum(subjectFeeds) }),
    row: z.object({ subject: z.string(), rows: z.int(), newest: z.string() }),
    ask: ({ feed }) => feedSubjects(feed),
  }),
  endpoint('index', 'An index over time, by topic and model', {
    takes: overTime.safeExtend({ feed }),
    row: z.object({
      topic: z.string(),
      match_type: z.string(),
      variant: z.string().describe('The model and further parameters, as name=value&name=value.'),
      kind: z.string().describe("The match type of an asset's records, or the type of events."),
      at: z.string(),
      mean: score,
      count: z.int().describe('Headlines or events.'),
    }),
    ask: indexOverTime,
  }),
  endpoint('news/counts', 'How many events and headlines of an asset there are over time', {
    takes: overTime,
    row: z.object({ kind: z.enum(newsKinds), at: z.string(), count: z.int() }),
    ask: newsOverTime,
  }),
  endpoint('news', 'Events and headlines of an asset, or macro headlines of a country, the latest first', {
    takes: z.object({
      subject,
      ...period,
      kind: z.enum(newsKinds).optional().describe('Only these; by default all kinds of an asset.'),
      limit: z.coerce.number().pipe(z.int().min(1).max(1000)).default(200),
    }),
    row: z.object({
      kind: z.enum(newsKinds),
      at: exactTime,
      text: z.string().nullable(),
      source: z.string().nullable(),
      url: z.string().nullable(),
      topic: z.string().nullable(),
      impact: z.string().nullable().describe('Type, direction and impact of an event, as sent.'),
      score,
    }),
    ask: feedNews,
  }),
];
