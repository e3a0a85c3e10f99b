import { z } from 'zod';
import { camelCased } from './camel-cased.ts';
import { choice, name, timeLimit, wholeNumber } from './field-types.ts';

const percent = 'a share in percent, 0 to 100';
const requestRate = 'requests a second, more than 0, or unlimited';

const noDataWords = 'words of the service, such as No data found';

const parameterName = (usual: string) =>
  name(`the name of a query parameter, such as ${usual}`)
    .exactOptional()
    .describe(`The query parameter usually called ${usual}.`);

/**
 * `service:` of a job file: our best guesses about the service, so that a user can correct them. docs/service.md gives the
 * sources: "Paging" for the page size, "Limits" for rate, burst and concurrency, "Historical headlines" for names.
 */
export const serviceSection = z
  .strictObject(
    {
      rate: z
        .union(
          [
            z.literal('unlimited').transform(() => Number.POSITIVE_INFINITY),
            z.number().positive({ error: requestRate }),
          ],
          { error: requestRate },
        )
        .prefault(25)
        .describe('Requests a second, sustained; or unlimited.'),
      burst: wholeNumber(1).default(50).describe('Requests that may go out at once after a pause.'),
      concurrency: wholeNumber(1).default(8).describe('Windows drained in parallel.'),
      page_size: wholeNumber(1, 1000).default(1000).describe('Records requested per page.'),
      end_date: choice('unknown', 'inclusive', 'exclusive', 'ignored')
        .default('unknown')
        .describe(
          'Whether the service returns the day named by end_date. Under unknown, each window requests one extra day, so ' +
            'that none is lost. Under ignored, no end_date is sent, and one window for each series lasts from its first ' +
            'missing day to today.',
        ),
      match_types: z
        .array(z.string({ error: 'a match type, as text' }), { error: 'a list of match types' })
        .default([])
        .describe('Values of match_type that the service accepts besides the usual ones.'),
      no_data: z
        .array(z.string({ error: noDataWords }).trim().min(3, { error: noDataWords }), {
          error: 'a list of words of the service',
        })
        .default([])
        .describe(
          'Words by which the service says that there is no data, such as No data found. A refusal, or a note without ' +
            'records, that contains one of them counts as an answer without records; any other fails its window.',
        ),
      parameters: z
        .strictObject(
          {
            topic: parameterName('topic'),
            match_type: parameterName('match_type'),
            start_date: parameterName('start_date'),
            end_date: parameterName('end_date'),
            limit: parameterName('limit'),
            next_token: parameterName('next_token'),
          },
          { error: 'a map from the usual name to the name that the service accepts' },
        )
        .prefault({})
        .describe('Query parameters for which the service uses another name.'),
      connect_timeout: timeLimit().prefault('PT10S').describe('Longest wait for a connection.'),
      headers_timeout: timeLimit().prefault('PT30S').describe('Longest wait for an answer to begin.'),
      body_timeout: timeLimit().prefault('PT60S').describe('Longest silence within an answer.'),
      max_body_bytes: wholeNumber(1024)
        .default(16 * 1024 * 1024)
        .describe(
          'The largest page that is read, as received and as unpacked, in bytes. A larger one fails its window. A page ' +
            'takes about ten times as much memory.',
        ),
      max_attempts: wholeNumber(1).default(8).describe('Attempts for one request, including the first.'),
      max_pages_without_news: wholeNumber(1)
        .default(10)
        .describe(
          'A window fails after this many pages in a row without a new record. Empty pages count, too.',
        ),
      max_rejected_percent: z
        .number({ error: percent })
        .min(0, { error: percent })
        .max(100, { error: percent })
        .default(1)
        .describe(
          'A window fails, and its days do not count as covered, if more than this share of its records cannot be read, ' +
            'and more than five.',
        ),
    },
    { error: 'a map of settings, such as { rate: 25, burst: 50 }' },
  )
  .prefault({})
  .describe('Our best guesses about the service. Set these only if a guess is wrong.');

/** The defaults, for commands that take no job. */
export const defaultServiceSettings = camelCased(serviceSection.parse({}));
