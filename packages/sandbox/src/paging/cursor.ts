import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { SandboxSettings } from '../options.ts';
import type { Position } from '../position.ts';
import { Refusal } from '../refusal.ts';

/**
 * A cursor contains the last served headline, so that the next page begins after it even if others were added or withdrawn.
 * `hops` counts empty pages in a row, so that their tokens differ.
 */
export interface Cursor {
  /** `null` for the beginning of the range. */
  readonly after: Position | null;
  readonly hops: number;
}

export type Cursors = ReturnType<typeof cursorsOf>;

const SIGNATURE_BYTES = 15;

/** Signs with a secret made from the seed, so that tokens stay valid after a restart of the sandbox. */
export function cursorsOf(
  settings: Pick<SandboxSettings, 'seed' | 'tokenLifetimeMs' | 'tokenErrorStatus' | 'clock'>,
) {
  const secret = createHash('sha256').update(`cursor secret of ${settings.seed}`).digest();
  const sign = (payload: string, binding: string) =>
    createHmac('sha256', secret).update(`${payload}\n${binding}`).digest().subarray(0, SIGNATURE_BYTES);
  const refuse = (detail: string) => new Refusal(settings.tokenErrorStatus, detail);

  return {
    /** Returns an opaque token, valid only for the query that `binding` stands for. Standard base64, unsafe in URLs. */
    seal({ after, hops }: Cursor, binding: string): string {
      const issuedAt = settings.tokenLifetimeMs === null ? 0 : settings.clock().getTime();
      const payload = [issuedAt, hops, after?.publishedAt ?? '', after?.id ?? ''].join(' ');
      return Buffer.concat([sign(payload, binding), Buffer.from(payload)]).toString('base64');
    },

    /** @throws Refusal if the token is broken, expired or of another query */
    open(token: string, binding: string): Cursor {
      const bytes = Buffer.from(token, 'base64');
      const signature = bytes.subarray(0, SIGNATURE_BYTES);
      const payload = bytes.subarray(SIGNATURE_BYTES).toString();
      const isGenuine =
        bytes.toString('base64') === token &&
        signature.length === SIGNATURE_BYTES &&
        timingSafeEqual(signature, sign(payload, binding));
      if (!isGenuine) throw refuse('Invalid next_token for this query');
      const [issuedAt, hops, publishedAt, id] = payload.split(' ') as [string, string, string, string];
      const age = settings.clock().getTime() - Number(issuedAt);
      if (settings.tokenLifetimeMs !== null && age > settings.tokenLifetimeMs) {
        throw refuse('Expired next_token');
      }
      return { after: id === '' ? null : { publishedAt: Number(publishedAt), id }, hops: Number(hops) };
    },
  };
}
