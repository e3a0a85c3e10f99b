import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';
import { GmsiError } from '../errors.ts';
import type { Secret } from '../secret.ts';

/** Redis did not answer, or no longer does, or lets nobody in. */
export class RedisUnavailable extends GmsiError {
  override readonly kind = 'retryable';

  constructor(why: string) {
    super(`Redis cannot be used: ${why.replace(/\.$/, '')}.`, {
      hint: 'Check GMSI_REDIS_URL, and that Redis is running there.',
    });
  }
}

/** Redis is there, and no longer knows of the key or of this process: all is well again after connecting anew. */
export class RedisForgot extends RedisUnavailable {}

/** A key's time as Redis hands it out, by Bottleneck's clustering, to every process that is connected there. */
export interface RedisRate {
  /**
   * Resolves once so much of the key's time is this process's, in milliseconds.
   * @throws RedisUnavailable
   */
  take(ms: number): Promise<void>;
  /** Resolves once the connection is of no use any more. */
  readonly gone: Promise<RedisUnavailable>;
  close(): void;
}

// What is shared is the key's time, not its requests: at 25 requests a second one takes 40 ms of it. So the settings
// are the same for every job, whatever its rate, and never have to be changed in a Redis that holds them already.
const unitsPerMs = 100;
const refillMs = 100;
const fullMs = 500;
/** What of a key's time may be handed out at once after a pause, in milliseconds. */
export const redisBurstMs = fullMs + refillMs;
/** Time is asked for in portions, or who needs much of it at once would stand behind those who need little. */
const portionMs = 40;

const answersWithinMs = 2_000;
/**
 * Redis forgets a key that is not used, in milliseconds; its reservoir begins empty again. That also mends one whose last
 * refill was by a clock far ahead of all others.
 */
const forgottenAfterMs = 600_000;

/**
 * Connects to Redis, once: where the connection breaks, another one is to be opened.
 * @param id of the key; processes with the same share its time
 * @throws RedisUnavailable
 */
export async function openRedisRate(url: Secret, id: string): Promise<RedisRate> {
  const link = linkToRedis(url);
  const limiter = new Bottleneck({
    ...{ id: `gmsi-${id}`, connection: link.connection, timeout: forgottenAfterMs },
    // Not full: a Redis that was restarted does not know what was sent just before.
    reservoir: 0,
    reservoirIncreaseMaximum: fullMs * unitsPerMs,
    reservoirIncreaseAmount: refillMs * unitsPerMs,
    reservoirIncreaseInterval: refillMs,
    // Who waits is told of an increase at a heartbeat only: at the default of 5 s, 10 requests a second of 25 were used.
    heartbeatInterval: refillMs,
  });
  limiter.on('error', link.giveUp);

  const slow = setTimeout(() => link.giveUp(`nothing within ${answersWithinMs} ms`), answersWithinMs);
  try {
    await link.whileThere(limiter.ready());
  } finally {
    clearTimeout(slow);
    // The heartbeat begins when it is ready, perhaps after it was given up.
    void link.gone
      .then(() => limiter.ready())
      .then(
        () => limiter.disconnect(false),
        () => {},
      );
  }

  async function pay(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= portionMs) {
      const weight = Math.ceil(Math.min(left, portionMs) * unitsPerMs);
      await link.whileThere(limiter.schedule({ weight }, async () => {}));
    }
  }

  let turn = Promise.resolve();
  return {
    gone: link.gone,
    close: () => link.giveUp('closed'),
    take(ms) {
      if (ms <= portionMs) return pay(ms);
      // Who pay portion by portion, each its own, would all be done at the same moment.
      const paid = turn.then(() => pay(ms));
      turn = paid.catch(() => {});
      return paid;
    },
  };
}

/**
 * Bottleneck 2.19.5 would mend it by itself, but knows these words only as Redis 6 says them: since 7 they begin with ERR.
 */
const forgot = /(UNKNOWN_CLIENT|SETTINGS_KEY_NOT_FOUND)$/;

/** The two connections that Bottleneck needs, and one end for all that can befall them. */
function linkToRedis(url: Secret) {
  const waiting = new Set<(failure: RedisUnavailable) => void>();
  let failure: RedisUnavailable | undefined;
  let end = (_failure: RedisUnavailable) => {};
  const gone = new Promise<RedisUnavailable>((resolve) => {
    end = resolve;
  });

  function giveUp(why: unknown): void {
    if (failure) return;
    const reason = reasonOf(why);
    failure = forgot.test(reason) ? new RedisForgot(reason) : new RedisUnavailable(reason);
    for (const reject of waiting) reject(failure);
    void connection.disconnect(false);
    end(failure);
  }

  /** Bottleneck leaves a job that waits unsettled for ever where its connection breaks. */
  function whileThere<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.add(reject);
      work.then(resolve, giveUp).finally(() => waiting.delete(reject));
      if (failure) reject(failure);
    });
  }

  const client = connect(url);
  const connection = new Bottleneck.IORedisConnection({ client });
  connection.on('error', giveUp);
  const { subscriber } = connection as unknown as { subscriber: Redis };
  for (const each of [client, subscriber]) each.on('end', () => giveUp('the connection ended'));
  return { connection, gone, giveUp, whileThere };
}

/** The version of the Redis at an address. @throws RedisUnavailable */
export async function redisVersion(url: Secret): Promise<string> {
  const client = connect(url);
  let failure: unknown;
  client.on('error', (error) => {
    failure ??= error;
  });
  try {
    const info = await client.info('server');
    // Such as a database that there is not, which the server is asked for before anything else.
    if (failure) throw failure;
    return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version';
  } catch (error) {
    throw new RedisUnavailable(reasonOf(failure ?? error));
  } finally {
    client.disconnect();
  }
}

function connect(url: Secret): Redis {
  return new Redis(url.reveal(), {
    connectTimeout: answersWithinMs,
    commandTimeout: answersWithinMs,
    // A broken connection is replaced as a whole, with all that Bottleneck keeps of it.
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
}

/** Its words only: the error of a command holds the command, and that of AUTH the password. */
function reasonOf(why: unknown): string {
  if (typeof why === 'string') return why;
  const { message, code } = why as NodeJS.ErrnoException;
  return message || code || 'no reason given';
}
