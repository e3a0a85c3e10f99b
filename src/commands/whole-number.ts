import { ConfigError } from '../errors.ts';

/** The number that an option was given. @throws ConfigError naming the option */
export function wholeNumber(flag: string, text: string): number {
  if (!/^\d+$/.test(text)) {
    throw new ConfigError(`${flag} is "${text}".`, { hint: 'It must be a whole number.' });
  }
  return Number(text);
}
