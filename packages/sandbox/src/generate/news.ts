import { type Day, formatDay, MS_PER_DAY } from '../days.ts';
import { asShare, mix, Random } from '../random.ts';
import type { Beat, GenerateSettings, News } from './headline.ts';
import { idOf } from './id.ts';
import { moodOf } from './mood.ts';
import { chooseLanguage, chooseSource, countryName, reprint, writeHeadline } from './texts.ts';
import { timeOfDay } from './time-of-day.ts';

const DOMESTIC_SHARE = 0.55;
const REPRINT_SHARE = 0.04;
const FURTHER_REPRINT_SHARE = 0.5;
const AT_ONCE_SHARE = 0.3;
const LONGEST_DELAY = 5 * 3_600_000;

/** News before it gets scores under a country and topic. */
export interface Written extends News {
  readonly domestic: boolean;
  /** Below 0 bad, above 0 good; about -2 to 2. */
  readonly leaning: number;
}

/** Writes the nth headline of a day about a country and topic, which follows from these and the seed alone. */
export function newsOf(
  { records }: GenerateSettings,
  beat: Beat,
  day: Day,
): { seed(index: number): number; write(index: number): Written } {
  const daySeed = mix(beat.hash, day);
  const mood = moodOf(beat.hash, day);
  const seed = (index: number) => mix(daySeed, index);

  /** Returns whether a headline is a reprint. After one, another is likely, so some stories have many. */
  function isReprint(index: number): boolean {
    if (index === 0) return false;
    const draw = asShare(mix(seed(index), 1));
    return draw < REPRINT_SHARE || (draw < FURTHER_REPRINT_SHARE && isReprint(index - 1));
  }

  const urlPrefix = `https://news.example/${beat.country.code.toLowerCase()}/${formatDay(day)}/`;

  function write(index: number): Written {
    const random = new Random(seed(index));
    return isReprint(index) ? reprinted(index, random) : original(index, random);
  }

  function original(index: number, random: Random): Written {
    const leaning = 0.8 * mood + 0.6 * random.normal();
    const { stamped, happened } = timeOfDay(records.hourShare, random);
    const domestic = random.share() < DOMESTIC_SHARE;
    const language = chooseLanguage(beat.country, domestic, random);
    const name = countryName(language, beat.country);
    const id = idOf(beat, day, index);
    return {
      id,
      story: id,
      url: urlPrefix + id.slice(24),
      fate: mix(beat.secondHash ^ day, index),
      publishedAt: day * MS_PER_DAY + stamped * 1000,
      happenedAt: day * MS_PER_DAY + happened * 1000,
      domestic,
      language,
      // The index as decimals makes the text unique within the day.
      text: writeHeadline(
        language,
        name,
        beat.topic,
        leaning,
        `${Math.floor(12 * random.share())}.${index}`,
        random,
      ),
      source: chooseSource(language, random),
      leaning,
    };
  }

  /** Returns the same news by another publisher of the language, at once or hours later on the same day. */
  function reprinted(index: number, random: Random): Written {
    let first = index - 1;
    while (isReprint(first)) first--;
    const news = write(first);
    const source = chooseSource(news.language, random);
    const text = reprint(news.text, source, random);
    const id = idOf(beat, day, index);
    const ids = { id, url: urlPrefix + id.slice(24), fate: mix(beat.secondHash ^ day, index) };
    if (random.share() < AT_ONCE_SHARE) return { ...news, ...ids, source, text };
    const delay = 1000 * Math.floor((LONGEST_DELAY * random.share()) / 1000);
    const happenedAt = Math.min(news.happenedAt + delay, (day + 1) * MS_PER_DAY - 1000);
    const isRounded = random.share() < records.hourShare;
    const publishedAt = isRounded ? happenedAt - (happenedAt % 3_600_000) : happenedAt;
    return { ...news, ...ids, source, text, happenedAt, publishedAt };
  }

  return { seed, write };
}
