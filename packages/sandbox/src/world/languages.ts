import type { Category } from './topics.ts';

/** Names of the press's languages by their ISO 639-1 codes. */
export const LANGUAGE_NAMES = {
  en: 'English',
  de: 'German',
  fr: 'French',
  es: 'Spanish',
  pt: 'Portuguese',
  it: 'Italian',
  tr: 'Turkish',
  ru: 'Russian',
  ar: 'Arabic',
  hi: 'Hindi',
  ja: 'Japanese',
  zh: 'Chinese',
  ko: 'Korean',
};

export type Language = keyof typeof LANGUAGE_NAMES;

export const LANGUAGES = Object.keys(LANGUAGE_NAMES) as Language[];

/**
 * The texts of one language's press. In patterns, `{c}` is the country's name, `{s}` the subject, `{n}` a number; in `update`,
 * `{t}` is the updated headline.
 */
export interface Press {
  readonly sources: readonly string[];
  readonly good: readonly string[];
  readonly bad: readonly string[];
  readonly plain: readonly string[];
  readonly update: string;
  /** English has none: its headlines use the topic's own phrase. */
  readonly subjects: Readonly<Record<Category, readonly string[]>> | null;
}
