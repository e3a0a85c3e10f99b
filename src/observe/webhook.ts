import { request } from 'undici';
import type { Secret } from '../secret.ts';

/** The longest wait for a webhook, in milliseconds. */
const patience = 10_000;

/**
 * Posts JSON to a webhook. Redirects are not followed.
 * @throws Error that says why, without the address, which is a secret
 */
export async function postToWebhook(url: Secret, body: object, signal: AbortSignal): Promise<void> {
  const { statusCode, body: answer } = await request(url.reveal(), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
  }).catch((error: unknown) => {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new Error(`no answer: ${code ?? name}`);
  });
  await answer.dump();
  if (statusCode < 200 || statusCode >= 300) throw new Error(`it answered ${statusCode}`);
}
