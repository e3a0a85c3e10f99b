import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/index.ts';

/** A Friday noon on which the sandboxes of these tests live. */
export const NOON = new Date('2026-11-20T12:00:00Z');

export const FOOD_IN_US = { country: 'US', topic: 'Inflation-Food' } as const;

/** A sandbox without limits at `NOON`, stopped with its test. */
export async function aSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ limits: null, clock: () => NOON, ...options });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  readonly json: any;
}

export type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

const GOOD_KEY = { 'x-api-key': 'sandbox-key' };

/** One GET with the good key; parameters that are null or undefined are left out, lists repeated. */
export function get(
  sandbox: Sandbox,
  path: string,
  query: Query = {},
  headers: Record<string, string> = GOOD_KEY,
): Promise<Answer> {
  return send(sandbox, path, query, { headers });
}

/** One POST with the good key; the body is sent as JSON, or unchanged if it is a text. */
export function post(sandbox: Sandbox, path: string, body: unknown, query: Query = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { ...GOOD_KEY, 'content-type': 'application/json' };
  return send(sandbox, path, query, { method: 'POST', headers, body: text });
}

async function send(sandbox: Sandbox, path: string, query: Query, options: RequestInit): Promise<Answer> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const member of [value ?? []].flat()) search.append(name, String(member));
  const response = await fetch(`${sandbox.url}${path}?${search}`, options);
  const headers = Object.fromEntries(response.headers);
  const text = await response.text();
  return {
    status: response.status,
    headers,
    text,
    json: headers['content-type']?.includes('json') && readJson(text),
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A page of food headlines of the US in January 2026, unless the query says otherwise. */
export function getPage(sandbox: Sandbox, { country = 'US', ...query }: Query = {}): Promise<Answer> {
  const asked = { topic: 'Inflation-Food', start_date: '2026-01-01', end_date: '2026-01-31', ...query };
  return get(sandbox, `/v1/headlines/feed/historical/gmsi/${country}`, asked);
}

/** Every page of food headlines from the first to the last. */
export function drain(
  sandbox: Sandbox,
  query: Query,
  betweenPages: (pages: number) => void = () => {},
): Promise<Answer[]> {
  return drainBy((next_token) => getPage(sandbox, { ...query, next_token }), betweenPages);
}

/** Every page from the first to the last, whatever brings the page of a token. */
export async function drainBy(
  pageAt: (token: string | null) => Promise<Answer>,
  betweenPages: (pages: number) => void = () => {},
): Promise<Answer[]> {
  const pages: Answer[] = [];
  let token: string | null = null;
  do {
    const page = await pageAt(token);
    if (page.status !== 200) throw new Error(`page ${pages.length + 1}: ${page.status} ${page.text}`);
    pages.push(page);
    token = page.json.next_token;
    betweenPages(pages.length);
  } while (token !== null);
  return pages;
}

export function recordsOf(pages: readonly Answer[]): Record<string, unknown>[] {
  return pages.flatMap((page) => page.json.data);
}
