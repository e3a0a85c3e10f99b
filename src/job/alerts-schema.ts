import { z } from 'zod';
import { wholeDays } from './field-types.ts';

const expectedAddress = 'the https:// address of a webhook';

/** `alerts:` of a job file: who is told what goes wrong where nobody watches. */
export const alertsSection = z
  .strictObject(
    {
      webhook_url: z
        .string({ error: expectedAddress })
        .refine(isWebAddress, { error: expectedAddress })
        // The keyword of JSON Schema for what is not to be shown: whoever knows the address can post to it.
        .meta({ writeOnly: true })
        .exactOptional()
        .describe(
          'Where alerts are posted as JSON that Slack understands. A secret: better set in GMSI_ALERT_WEBHOOK_URL, which is used where this is left out.',
        ),
      max_lag: wholeDays({ example: 'P5D', least: 2, most: 366, because: 'a year late is too late' })
        .exactOptional()
        .describe(
          'How long ago the end of the newest covered day may lie, of any series, before the job counts as late; longer than lookback by 2 days at least. Never, if left out.',
        ),
    },
    { error: 'a map such as { max_lag: P5D }' },
  )
  .prefault({})
  .describe('What to tell somebody of, where nobody watches.');

/** As much of a job file as decides how late a job always is. */
interface Unsettled {
  readonly alerts: z.output<typeof alertsSection>;
  readonly lookback: number;
  readonly cadence: { readonly adaptive: boolean; readonly max_uncovered: number };
}

/** Days that a job leaves uncovered on purpose would raise the alarm every day. */
export function checkMaxLag({ alerts, lookback, cadence }: Unsettled, context: z.RefinementCtx): void {
  // What is refused by itself is compared with nothing.
  if (typeof lookback !== 'number' || typeof cadence?.max_uncovered !== 'number') return;
  const least = cadence.adaptive === true ? Math.max(lookback + 2, cadence.max_uncovered + 1) : lookback + 2;
  if (!((alerts?.max_lag ?? Number.NaN) < least)) return;
  const why =
    least > lookback + 2
      ? `cadence leaves quiet series uncovered for P${cadence.max_uncovered}D`
      : `days within lookback, P${lookback}D, are not covered yet`;
  context.addIssue({
    code: 'custom',
    path: ['alerts', 'max_lag'],
    message: `at least P${least}D: ${why}`,
  });
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}
