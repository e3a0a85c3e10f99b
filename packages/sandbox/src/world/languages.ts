import type { Category } from './topics.ts';

/** ISO 639-1 codes of the press's languages. */
export const LANGUAGES = [
  'en',
  'de',
  'fr',
  'es',
  'pt',
  'it',
  'tr',
  'ru',
  'ar',
  'hi',
  'ja',
  'zh',
  'ko',
] as const;

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
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

export type Language = (typeof LANGUAGES)[number];

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
