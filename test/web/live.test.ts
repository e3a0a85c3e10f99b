import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { liveStates } from '../../src/web/live.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aPage } from './a-page.ts';

/** Reads the events of a stream. */
async function* events(url: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(`${url}/api/live`, { signal });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield text.slice(0, end);
      text = text.slice(end + 2);
    }
  }
}

it('a stream tells of each change of the warehouse, whoever made it', async () => {
  await using warehouse = await aWarehouse();
  await using page = await aPage(warehouse.db);
  const stop = new AbortController();
  const stream = events(page.url, stop.signal);
  expect((await stream.next()).value).toBe('retry: 3000');
  const { value: first } = await stream.next();
  expect(first).toMatch(/^event: state\ndata: [\w-]+$/);
  await sql`insert into gmsi.countries (country) values ('XX')`.execute(warehouse.db);
  const { value: second } = await stream.next();
  expect(second).toMatch(/^event: state\n/);
  expect(second).not.toBe(first);
  stop.abort();
});

it('the warehouse is looked at once for all who listen, and not at all if nobody does', async () => {
  let looks = 0;
  const live = liveStates(async () => String(++looks));
  const stops = [new AbortController(), new AbortController()];
  const streams = stops.map(({ signal }) => live.listen(signal));
  for (const stream of streams) expect((await stream.next()).value).toBe('retry: 3000\n\n');
  const heard = await Promise.all(streams.map((stream) => stream.next()));
  expect(heard[0]!.value).toBe(heard[1]!.value);
  for (const stop of stops) stop.abort();
  for (const stream of streams) expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect(live.listeners).toBe(0);
  const before = looks;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(looks).toBe(before);
});

it('who follows later hears the state at once, not only the next change', async () => {
  const live = liveStates(async () => 'the same');
  const stops = [new AbortController(), new AbortController()];
  for (const { signal } of stops) {
    const stream = live.listen(signal);
    await stream.next();
    expect((await stream.next()).value).toContain('the same');
  }
  for (const stop of stops) stop.abort();
});

it('only so many may follow, and a place is free again once a reader has gone', async () => {
  await using warehouse = await aWarehouse();
  await using page = await aPage(warehouse.db);
  const stops = Array.from({ length: 20 }, () => new AbortController());
  for (const { signal } of stops) await events(page.url, signal).next();
  expect((await fetch(`${page.url}/api/live`)).status).toBe(503);
  stops[0]!.abort();
  await expect
    .poll(async () => {
      const stop = new AbortController();
      const { status } = await fetch(`${page.url}/api/live`, { signal: stop.signal });
      stop.abort();
      return status;
    })
    .toBe(200);
  for (const stop of stops) stop.abort();
});
