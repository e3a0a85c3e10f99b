import type { IncomingMessage, ServerResponse } from 'node:http';
import { webServer } from './other-servers.ts';

/** A request for days of a series, as a stand-in for the service sees it. */
export interface AskedOf {
  readonly country: string;
  readonly topic: string;
  readonly from: string;
  readonly to: string;
  /** How many came before it. */
  readonly before: number;
  readonly request: IncomingMessage;
}

/** Answers as the service would, unless `answer` does; returns true if it has. */
export async function aStandIn(
  answer: (asked: AskedOf, response: ServerResponse) => boolean,
  countries = ['US', 'GB', 'DE'],
) {
  const asked: AskedOf[] = [];
  const server = await webServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://service');
    const lists: Record<string, string[]> = {
      '/v1/countries': countries,
      '/v1/headlines/topics/gmsi': ['Inflation-Food', 'Wars'],
    };
    const list = lists[pathname];
    if (list) return void response.end(JSON.stringify(list));
    if (pathname.includes('/live/')) return void response.end('[]');
    const [from, to] = [searchParams.get('start_date')!, searchParams.get('end_date')!];
    const about = { country: pathname.split('/').at(-1)!, topic: searchParams.get('topic')!, from, to };
    const one = { ...about, before: asked.length, request };
    asked.push(one);
    if (!answer(one, response)) response.end(JSON.stringify(aPage(recordsOf(one))));
  });
  return Object.assign(server, { asked });
}

/** A record for each day that was asked for. */
export function recordsOf({ country, topic, from, to }: AskedOf, more: object = {}) {
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  return Array.from({ length: days }, (_, day) => {
    const date = new Date(Date.parse(from) + day * 86_400_000).toISOString().slice(0, 10);
    const id = `${country} ${topic} ${date}`;
    return { id, headline: id, publication_time: `${date}T12:00:00`, directional_positive: 0.5, ...more };
  });
}

export function aPage(data: readonly unknown[]) {
  return { data, limit: 1000, has_more: false, next_token: null };
}
