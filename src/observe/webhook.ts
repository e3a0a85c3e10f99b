import pRetry, { AbortError } from 'p-retry';
import { request } from 'undici';
import type { Secret } from '../secret.ts';

/**
 * The number of retries, the wait before the first retry (doubled before each further one), and the time limit of each try.
 * Together they take less than two minutes, after which another process may send the same alert.
 */
export const usualPatience = { retries: 3, firstDelayMs: 1_000, timeoutMs: 10_000 };
export type WebhookPatience = typeof usualPatience;

/**
 * Posts JSON to a webhook. Redirects are not followed.
 * @throws Error that says why, without the address, which is a secret
 */
export async function postToWebhook(
  url: Secret,
  body: object,
  { retries, firstDelayMs, timeoutMs }: WebhookPatience,
  signal: AbortSignal,
): Promise<void> {
  await pRetry(() => postOnce(url, body, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])), {
    retries,
    minTimeout: firstDelayMs,
    signal,
  });
}

async function postOnce(url: Secret, body: object, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body), signal } as const;
  const { statusCode, body: answer } = await request(url.reveal(), options).catch((error: unknown) => {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new Error(`no answer: ${code ?? name}`);
  });
  await answer.dump();
  if (statusCode >= 200 && statusCode < 300) return;
  const refusal = new Error(`it answered ${statusCode}`);
  // The webhook would refuse the same message again.
  const isFinal = statusCode < 500 && statusCode !== 408 && statusCode !== 429;
  throw isFinal ? new AbortError(refusal) : refusal;
}
