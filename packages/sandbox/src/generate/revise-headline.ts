import type { Random } from '../random.ts';
import type { Language } from '../world/languages.ts';
import type { Headline } from './headline.ts';
import { probabilities } from './scores.ts';
import { updateHeadline } from './texts.ts';

const REWRITTEN_SHARE = 0.3;

/** Returns the headline with other scores and, sometimes, another text. */
export function reviseHeadline(headline: Headline, random: Random): Headline {
  const leaning = 0.8 * random.normal();
  return {
    ...headline,
    text: reviseText(headline, random),
    directional: probabilities(leaning, random),
    semantic: headline.semantic && probabilities(leaning, random),
  };
}

export function reviseText({ language, text }: { language: Language; text: string }, random: Random): string {
  return random.share() < REWRITTEN_SHARE ? updateHeadline(language, text) : text;
}
