import { describe, expect, it } from 'vitest';
import { accessTo, gmsi } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aPlace } from '../cli/place.ts';
import { aCollector, type CollectedSpan, type Collector } from './a-collector.ts';

/** Two windows and several pages each. */
const january = { ...quarter, topics: ['Inflation-Food'], to: '2024-01-31' };
const service = { page_size: 10 };
const key = 'k3y-0f-some0ne';

const named = ({ spans }: Collector, name: string) => spans.filter((span) => span.name === name);
const within = ({ spans }: Collector, parent: CollectedSpan) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId);
const names = (spans: readonly CollectedSpan[]) => spans.map(({ name }) => name).toSorted();

describe('with a collector set, a run by hand', () => {
  it('sends a tree of load, windows and the stages of their pages, with what leads back to the rows, and which page failed why, never the key', async () => {
    await using place = await aPlace({ volume: 0.1, keys: [key] });
    const { folder, sandbox, warehouse } = place;
    await using collector = await aCollector();
    await folder.write('jobs/job.yaml', jobFor(january, { service }));
    // The SDK reads these itself, from the environment; a .env file counts as such.
    await folder.write('.env', `OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20t0ken\n`);
    const env = { ...accessTo(warehouse, sandbox, key), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const { code, stdout } = await gmsi(['backfill', 'job', '--json'], { cwd: folder.path, env });
    expect(code).toBe(0);
    const { load_id: loadId, totals } = JSON.parse(stdout).jobs[0];

    const [load, ...others] = named(collector, 'load');
    expect(others).toEqual([]);
    expect(load).not.toHaveProperty('parentSpanId');
    expect(load!.attributes).toMatchObject({
      'gmsi.feed': 'gmsi-headlines',
      'gmsi.job': 'job',
      'gmsi.command': 'backfill',
      'gmsi.load_id': loadId,
      'gmsi.outcome': 'done',
      'gmsi.records': totals.records,
    });

    const windows = named(collector, 'window');
    expect(windows).toHaveLength(totals.windows_drained);
    expect(new Set(within(collector, load!))).toEqual(new Set(windows));
    expect(windows.length).toBeGreaterThan(1);
    expect(totals.pages).toBeGreaterThan(windows.length);
    let pages = 0;
    let records = 0;
    for (const window of windows) {
      expect(window.attributes).toMatchObject({
        'gmsi.feed': 'gmsi-headlines',
        'gmsi.load_id': loadId,
        'gmsi.window_id': expect.any(Number),
        'gmsi.country': expect.stringMatching(/^(US|NO)$/),
        'gmsi.match_type': 'COMBINED',
      });
      const ofWindow = within(collector, window);
      const committed = ofWindow.filter(({ name }) => name === 'commit');
      for (let page = 1; page <= committed.length; page++) {
        const ofPage = ofWindow.filter(({ attributes }) => attributes['gmsi.page'] === page);
        expect(names(ofPage)).toEqual(['commit', 'fetch', 'read']);
      }
      for (const { attributes } of ofWindow)
        expect(attributes).toMatchObject({ 'gmsi.window_id': window.attributes['gmsi.window_id'] });
      pages += committed.length;
      for (const { attributes } of committed) records += Number(attributes['gmsi.records']);
    }
    expect({ pages, records }).toEqual({ pages: totals.pages, records: totals.records });
    expect(collector.text).toContain('"authorization":"Bearer t0ken"');
    expect(collector.text).toContain('{"key":"service.name","value":{"stringValue":"gmsi"}}');

    sandbox.script([
      {
        kind: 'refuse',
        status: 503,
        detail: `x-api-key: ${key} broke it`,
        times: 1_000,
        match: ({ token }) => token !== null,
      },
    ]);
    const nightly = { cwd: folder.path, env: { ...env, OTEL_SERVICE_NAME: 'nightly' } };
    expect((await gmsi(['backfill', 'job', '--full-refresh'], nightly)).code).toBe(1);
    const [failed] = named(collector, 'window').filter(({ error }) => error !== undefined);
    expect(failed!.error).toMatch(/503.*\[key\] broke it.*given up after 2 tries/);
    expect(within(collector, failed!).filter(({ error }) => error !== undefined)).toMatchObject([
      { name: 'fetch', error: failed!.error, attributes: { 'gmsi.page': expect.any(Number) } },
    ]);
    expect(collector.text).toContain('"stringValue":"nightly"');
    expect(collector.text).not.toContain(key);
  });

  it('ends as it would without one, with one warning, if nobody listens', async () => {
    await using place = await aPlace({ volume: 0.1 });
    const { folder, sandbox, warehouse } = place;
    const gone = await aCollector();
    await gone[Symbol.asyncDispose]();
    await folder.write('jobs/job.yaml', jobFor({ ...january, countries: ['NO'] }));
    const env = {
      ...accessTo(warehouse, sandbox),
      OTEL_EXPORTER_OTLP_ENDPOINT: gone.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    };
    const { code, stderr } = await gmsi(['backfill', 'job'], { cwd: folder.path, env });
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('traces cannot be exported'))).toHaveLength(1);
  });
});
