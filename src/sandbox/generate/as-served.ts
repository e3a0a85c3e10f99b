import { mix, Random } from '../random.ts';
import { type Headline, shareOf } from './headline.ts';
import { probabilities } from './scores.ts';
import { updateHeadline } from './texts.ts';

const HOUR = 3_600_000;
const REWRITTEN_SHARE = 0.3;

/** The shares that change; see `Changes` of the options. */
export interface ChangeShares {
  readonly late: number;
  readonly revised: number;
  readonly withdrawn: number;
}

/** The headline as it is served at `now` (milliseconds since 1970), or `null` while or once it is not served. */
export function asServed(headline: Headline, changes: ChangeShares, now: number): Headline | null {
  const isLate = shareOf(headline, 1) < changes.late;
  const arrivedAt = headline.publishedAt + (isLate ? between(1, 96, shareOf(headline, 2)) : 0);
  if (arrivedAt > now) return null;
  const isWithdrawn = shareOf(headline, 3) < changes.withdrawn;
  if (isWithdrawn && arrivedAt + between(1, 480, shareOf(headline, 4)) <= now) return null;
  const isRevised = shareOf(headline, 5) < changes.revised;
  if (isRevised && arrivedAt + between(2, 240, shareOf(headline, 6)) <= now) return revise(headline);
  return headline;
}

/** Milliseconds, between so many hours. */
function between(leastHours: number, mostHours: number, share: number): number {
  return Math.round(HOUR * (leastHours + (mostHours - leastHours) * share));
}

function revise(headline: Headline): Headline {
  const random = new Random(mix(headline.fate, 7));
  const leaning = 0.8 * random.normal();
  const isRewritten = random.share() < REWRITTEN_SHARE;
  return {
    ...headline,
    text: isRewritten ? updateHeadline(headline.language, headline.text) : headline.text,
    directional: probabilities(leaning, random),
    semantic: headline.semantic && probabilities(leaning, random),
  };
}
