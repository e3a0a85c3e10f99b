import type { Clock } from '../api/clock.ts';
import type { Range, Reply } from './ask.ts';
import type { Finding } from './fact.ts';

/** What a token is tried after, in milliseconds. */
const lifetime = 60_000;

/** A token, and the request whose next page it leads to. */
export interface Token {
  readonly range: Range;
  readonly token: string;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Whether a token survives a minute: waits until it is that old, then asks with it. Where it is refused, a fresh one is
 * tried at once, so that a service which refuses tokens for another reason is not taken for one that forgets them.
 */
export async function tryToken(
  { range, token, at }: Token,
  ask: (range: Range, token?: string) => Promise<Reply>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding> {
  const left = at + lifetime - clock.now();
  if (left > 0) await clock.sleep(left, signal);
  const seconds = Math.round((clock.now() - at) / 1000);
  const reply = await ask(range, token);
  if (reply.kind === 'failed') return { reason: reply.reason };
  if (reply.kind === 'answered') {
    return { value: 'a minute or longer', evidence: `a token was taken after ${seconds} s` };
  }
  const said = `${reply.status}: ${reply.words}`;
  const fresh = await ask(range);
  if (fresh.kind !== 'answered' || fresh.answer.nextToken === null) {
    return { reason: `a token was refused after ${seconds} s (${said}), and a fresh one could not be had` };
  }
  const again = await ask(range, fresh.answer.nextToken);
  if (again.kind !== 'answered') return { reason: `tokens are refused, also fresh ones (${said})` };
  return {
    value: 'less than a minute',
    evidence: `a token was refused after ${seconds} s (${said}), a fresh one was taken`,
  };
}
