import { expect } from 'vitest';
import { webServer } from '../support/other-servers.ts';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** A service whose cursor is a position: once a record is withdrawn, those behind it move up. */
function aServiceByPosition(ids: string[], onPage: () => void) {
  return webServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://service');
    const list = { '/v1/countries': ['US'], '/v1/headlines/topics/gmsi': ['Elections'] }[pathname];
    if (list) return void response.end(JSON.stringify(list));
    if (pathname.includes('/live/')) return void response.end('[]');
    const from = Number(searchParams.get('next_token') ?? 0);
    const until = from + Number(searchParams.get('limit'));
    const data = ids.slice(from, until).map((id) => ({
      id,
      headline: id,
      publication_time: '2026-11-19T12:00:00',
      directional_positive: 0.5,
    }));
    const hasMore = until < ids.length;
    response.end(JSON.stringify({ data, has_more: hasMore, next_token: hasMore ? String(until) : null }));
    onPage();
  });
}

it('a record that a shifting cursor skips is loaded by the lookback', async ({ db }) => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  let pages = 0;
  await using service = await aServiceByPosition(ids, () => {
    pages += 1;
    if (pages === 1) ids.shift();
  });
  const held = async () => {
    const rows = await sqlIn(db)<{ headline: string }>`
      select headline from gmsi.headlines where retracted_at is null order by 1`;
    return rows.map(({ headline }) => headline).join('');
  };
  const job = aJob({
    countries: ['US'],
    topics: ['Elections'],
    start_date: '2026-11-15',
    end_date: 'today',
    lookback: 'P3D',
    service: { page_size: 2, end_date: 'inclusive', concurrency: 1 },
  });

  expect(await runBackfill({ job, db, sandbox: service })).toMatchObject({ outcome: 'done' });
  expect(await held()).toBe('abdef');
  expect(await runSync({ job, db, sandbox: service })).toMatchObject({ outcome: 'done' });
  expect(await held()).toBe('bcdef');
});
