import type { Random } from '../random.ts';
import type { Country } from '../world/countries.ts';
import { LANGUAGES, type Language, type Press } from '../world/languages.ts';
import { LATIN_PRESS } from '../world/press-latin.ts';
import { OTHER_PRESS } from '../world/press-other-scripts.ts';
import type { Subject } from '../world/topics.ts';

const PRESS: Readonly<Record<Language, Press>> = { ...LATIN_PRESS, ...OTHER_PRESS };

export const SOURCES = LANGUAGES.flatMap((language) =>
  PRESS[language].sources.map((name) => ({ name, language })),
);

const UPDATED_SHARE = 0.3;
const LOCAL_SHARE = 0.8;
const ENGLISH_ABROAD_SHARE = 0.4;

/** Chooses the language of a headline: in its country mostly the first language, abroad any language. */
export function chooseLanguage(country: Country, domestic: boolean, random: Random): Language {
  if (!domestic) return random.share() < ENGLISH_ABROAD_SHARE ? 'en' : random.pick(LANGUAGES);
  return random.share() < LOCAL_SHARE ? country.languages[0]! : random.pick(country.languages);
}

export function chooseSource(language: Language, random: Random): string {
  return random.pick(PRESS[language].sources);
}

/** Writes a headline about a country or an asset, in a tone that suits the leaning, with a number in it. */
export function writeHeadline(
  language: Language,
  name: string,
  { category, phrase }: Subject,
  leaning: number,
  number: string,
  random: Random,
): string {
  const press = PRESS[language];
  const tone = Math.abs(leaning) < 0.25 ? press.plain : leaning > 0 ? press.good : press.bad;
  const subject = press.subjects === null ? phrase : random.pick(press.subjects[category]);
  return random
    .pick(tone)
    .replace('{c}', () => name)
    .replace('{s}', subject)
    .replace('{n}', number);
}

/** Returns the text as another publisher prints it: mostly unchanged, else with its own name or other punctuation. */
export function reprint(text: string, source: string, random: Random): string {
  const draw = random.share();
  if (draw < 0.6) return text;
  if (draw < 0.8) return `${text} ${random.pick(['-', '|'])} ${source}`;
  return text.includes(': ') ? text.replace(': ', ' – ') : `${text}.`;
}

export function anyNumber(random: Random): string {
  return (0.1 + 12 * random.share()).toFixed(1);
}

/** Returns the text of a revised headline: mostly unchanged, else marked as an update. */
export function reviseText({ language, text }: { language: Language; text: string }, random: Random): string {
  return random.share() < UPDATED_SHARE ? PRESS[language].update.replace('{t}', () => text) : text;
}

const namesOf = new Map<Language, Intl.DisplayNames>();
const names = new Map<string, string>();

/** Returns the country's name. Names in other languages come from ICU, so they can differ between releases of Node. */
export function countryName(language: Language, country: Country): string {
  if (language === 'en') return country.name;
  const key = `${language}${country.code}`;
  let name = names.get(key);
  if (name === undefined) {
    let ofLanguage = namesOf.get(language);
    if (ofLanguage === undefined) {
      ofLanguage = new Intl.DisplayNames([language], { type: 'region' });
      namesOf.set(language, ofLanguage);
    }
    name = ofLanguage.of(country.code) ?? country.name;
    names.set(key, name);
  }
  return name;
}
