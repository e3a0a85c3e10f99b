import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';
import type { Day } from '../warehouse/tables/database.ts';

/** The day that an option was given, if it was. @throws ConfigError naming the option */
export function readDay(flag: string, text: string | undefined): Day | undefined {
  if (text === undefined) return undefined;
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Temporal.PlainDate.from(text).toString();
  } catch {
    // A day that the calendar does not have is told like any other text.
  }
  throw new ConfigError(`${flag} is "${text}".`, {
    hint: 'It must be a day (UTC) such as 2025-12-31; it is included.',
  });
}
