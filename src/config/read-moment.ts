import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';

/**
 * Reads a past moment of an option. @param others what else the option takes, for the hint
 * @throws ConfigError if it is not one
 */
export function readMoment(option: string, text: string, now: Date, others = ''): string {
  let moment: Temporal.Instant;
  try {
    moment = Temporal.Instant.from(text);
  } catch (cause) {
    throw new ConfigError(`${option} "${text}" is not valid.`, {
      cause,
      hint: `It must be a moment with its time zone, such as 2025-06-30T12:00:00Z${others}.`,
    });
  }
  if (moment.epochMilliseconds > now.getTime())
    throw new ConfigError(`${option} ${text} is in the future.`, {
      hint: `It must be in the past; without ${option}, the present counts.`,
    });
  if (moment.epochMilliseconds < Date.parse('1900-01-01'))
    throw new ConfigError(`${option} ${text} is before 1900.`, { hint: 'It must be in 1900 or later.' });
  return moment.toString();
}
