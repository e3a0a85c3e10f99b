import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gmsi } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aPlace } from '../cli/place.ts';
import { root } from '../docs/pages.ts';

const [, spans] = /```js spans\.mjs\n([\s\S]*?)```/.exec(
  readFileSync(join(root, 'docs/observability/README.md'), 'utf8'),
)!;

it('lets a module that is loaded before the program see each load, window and stage of a page, as the docs show', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, setting } = place;
  await folder.write('spans.mjs', spans!);
  const of = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
  await folder.write('jobs/job.yaml', jobFor(of, { service: { page_size: 10 } }));
  const env = { ...setting.env, NODE_OPTIONS: '--import=./spans.mjs' };
  const { code, stdout, stderr } = await gmsi(['backfill', 'job', '--json'], { ...setting, env });
  expect(code, stderr).toBe(0);
  const { load_id: load, totals } = JSON.parse(stdout).jobs[0];
  const told = (pattern: string) => stderr.match(new RegExp(`^${load} ${pattern} [\\d.]+ done$`, 'gm')) ?? [];
  expect(stderr).toMatch(new RegExp(`^load ${load}: backfill job$[\\s\\S]*^load ${load}: done$`, 'm'));
  expect(told('window {"window_id":\\d+,.*"country":"NO".*}')).toHaveLength(totals.windows_drained);
  expect(totals.pages).toBeGreaterThan(1);
  for (const stage of ['fetch', 'read', 'commit'])
    expect(told(`${stage} {"window_id":\\d+,"page":\\d+.*}`), stage).toHaveLength(totals.pages);
});
