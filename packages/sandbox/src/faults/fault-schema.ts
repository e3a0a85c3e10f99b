import { z } from 'zod';
import type { SeenRequest } from './seen-request.ts';

/** What can be wrong with single records of a page. */
const driftKinds = [
  'renamed-field',
  'new-field',
  'vanished-field',
  'nul-character',
  'lone-surrogate',
  'score-as-string',
  'no-time',
  'no-score',
  'not-an-object',
  'bare-nan',
  'bare-infinity',
] as const;

/** A fault with its own fields, which requests get it, and how many of them. */
function fault<Kind extends string, Fields extends z.core.$ZodShape>(
  kind: Kind,
  about: string,
  fields: Fields,
) {
  return z
    .strictObject({
      kind: z.literal(kind),
      ...fields,
      times: z.int().min(1).default(1),
      match: z
        .custom<(request: SeenRequest) => boolean>((value) => typeof value === 'function', 'a function')
        .optional(),
    })
    .describe(about);
}

/** A fault for the next `times` requests that `match` (all) accepts and that can have it. */
export const scriptedFault = z.discriminatedUnion('kind', [
  fault('latency', 'a correct answer, ms milliseconds late', {
    ms: z.number().min(0).default(200),
  }),
  fault('rate-limited', '429; retryAfter is the form in which seconds are sent', {
    retryAfter: z.enum(['seconds', 'date', 'none']).default('seconds'),
    seconds: z.number().min(0).default(1),
  }),
  fault('server-error', 'an error with this status, as JSON', {
    status: z.literal([500, 502, 503, 504]).default(500),
  }),
  fault('html', "a gateway's error page in HTML, with this status", {
    status: z.literal([502, 200]).default(502),
  }),
  fault('reset', 'the connection is reset before any byte of an answer', {}),
  fault('truncate', 'headers with the full length, half the body, then the connection is cut', {}),
  fault('hang', 'headers and half the body, then nothing until the client gives up', {}),
  fault('malformed', '200 with JSON that is not a page', {}),
  fault(
    'drift',
    'the first record of a page gets the first of drifts, the second record the second, and so on',
    {
      drifts: z
        .array(z.enum(driftKinds))
        .readonly()
        .default([...driftKinds]),
    },
  ),
  fault('repeat-token', "next_token is the request's own token; waits for a request with a token", {}),
  fault(
    'cycle-token',
    'next_token is the token of the request before; waits for a request that followed another token',
    {},
  ),
  fault('missing-token', 'has_more is true and next_token null', {}),
  fault('empty-page', 'no records, and a token that leads to the requested ones', {}),
  fault('duplicate-record', "the page's first record again, at its end", {}),
  fault('auth', 'a good key is refused with this status', {
    status: z.literal([401, 403]).default(401),
  }),
  fault('refuse', 'refused with this status and detail', {
    status: z.int().min(400).max(599).default(400),
    detail: z.unknown().default('Refused'),
  }),
]);

type FaultKind = z.input<typeof scriptedFault>['kind'];

export const faultKinds = scriptedFault.options.map(({ shape }) => shape.kind.value) as [
  FaultKind,
  ...FaultKind[],
];
