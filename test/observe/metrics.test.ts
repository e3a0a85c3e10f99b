import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { describe, expect } from 'vitest';
import { type SeenRequest, startSandbox } from '#sandbox';
import { lagSeconds } from '../../src/answer/standing.ts';
import { Secret } from '../../src/secret.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aConfig, aTelemetry, byLabel, now, scrape } from './a-telemetry.ts';

const quarter = { start_date: '2026-09-01', end_date: '2026-09-30' };
const hourly = { end_date: 'today', schedule: { sync: '15 * * * *' }, alerts: { max_lag: 'P5D' } };

describe('a scrape', () => {
  it('counts as the sandbox counts, and as the warehouse holds', async ({ db }) => {
    await using sandbox = await startSandbox({ limits: null, volume: 0.3 });
    const job = aJob({ ...quarter, service: { page_size: 40, end_date: 'inclusive' } });
    await using telemetry = await aTelemetry(db, [job]);
    const inUS = ({ path }: SeenRequest) => path.endsWith('/US');
    const ofNorway =
      (topic: string) =>
      ({ path, query }: SeenRequest) =>
        path.endsWith('/NO') && query.topic === topic;
    sandbox.script([
      { kind: 'server-error', match: inUS },
      { kind: 'html', match: inUS, status: 502 },
      { kind: 'rate-limited', match: inUS, retryAfter: 'none' },
      { kind: 'drift', drifts: ['no-time'], match: ofNorway('Inflation-Food') },
      { kind: 'reset', match: ofNorway('Governance/Corruption') },
      { kind: 'malformed', match: ofNorway('Governance/Corruption') },
    ]);
    const { onClientEvent } = telemetry;
    const result = await runBackfill({ job, db, sandbox, onClientEvent });
    expect(result.outcome).toBe('done');

    const samples = await scrape(telemetry);
    const outcomes = byLabel(samples, 'gmsi_requests_total', 'outcome');
    const { byStatus, requests, pages } = sandbox.stats();
    expect(outcomes).toEqual({
      ok: byStatus[200]! - 1,
      malformed: 1,
      network: byStatus.none!,
      '429': byStatus[429]!,
      '5xx': byStatus[500]! + byStatus[502]!,
    });
    expect(byLabel(samples, 'gmsi_requests_total', 'feed')).toEqual({
      'gmsi-headlines': requests - 2,
      lookups: 2,
    });

    const { rows_inserted, records, records_rejected } = result.totals;
    const unchanged = records - rows_inserted - records_rejected;
    expect(byLabel(samples, 'gmsi_records_total', 'outcome')).toEqual({
      inserted: rows_inserted,
      rejected: records_rejected,
      ...(unchanged > 0 && { unchanged }),
    });
    expect(records_rejected).toBe(1);
    expect(byLabel(samples, 'gmsi_stage_duration_seconds_count', 'stage')).toMatchObject({
      read: pages,
      commit: pages,
    });
    expect(byLabel(samples, 'gmsi_windows', 'state')).toEqual({});
    expect(samples).toMatchObject({
      gmsi_warehouse_up: 1,
      gmsi_workers: 0,
      'gmsi_job_lag_seconds{job_name="test"}': 0,
      'gmsi_job_budget_left_requests{job_name="test"}': 250_000 - requests,
    });
    expect(samples).toHaveProperty('process_cpu_seconds_total');
    expect(JSON.stringify(samples)).not.toContain('sandbox-key');
  });

  it('says how far a job lags, and whether its budget lasts', async ({ db }) => {
    const clock = () => new Date('2026-11-20T12:00:00Z');
    await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
    const job = aJob({ ...hourly, start_date: '2026-11-01', budget: { requests_per_month: 3_000 } });
    await using never = await aTelemetry(db, [job]);
    expect(await scrape(never)).toMatchObject({ 'gmsi_job_lag_seconds{job_name="test"}': 19.5 * 86_400 });

    await runBackfill({ job, db, sandbox });
    const { rows } = await sql<{ requests: number }>`select requests from gmsi.api_usage`.execute(db);
    const { requests } = rows[0]!;
    await using telemetry = await aTelemetry(db, [job]);
    // Four series, each polled by a window and a live answer every hour of the 10.5 days that are left.
    const planned = 4 * 2 * 24 * 10.5;
    expect(await scrape(telemetry)).toMatchObject({
      'gmsi_job_lag_seconds{job_name="test"}': 3.5 * 86_400,
      'gmsi_job_max_lag_seconds{job_name="test"}': 5 * 86_400,
      'gmsi_job_budget_left_requests{job_name="test"}': 3_000 - requests,
      'gmsi_job_budget_projected_left_requests{job_name="test"}': 3_000 - requests - planned,
    });
  });

  it('says how many workers live', async ({ db }) => {
    await sql`
      insert into gmsi.processes (command, process_id, run_by, version, concurrency, heartbeat_at, stopped_at)
      values ('sync', 'no worker', '', '', 8, now(), null), ('work', 'alive', '', '', 8, now(), null),
        ('work', 'silent', '', '', 8, now() - interval '31 s', null), ('work', 'stopped', '', '', 8, now(), now())
    `.execute(db);
    await using telemetry = await aTelemetry(db, []);
    const samples = await scrape(telemetry);
    expect(samples.gmsi_workers).toBe(1);
  });

  it('shows what the process knows if the warehouse does not answer, and nothing stale', async () => {
    const away = connect({ kind: 'url', url: new Secret('postgres://nobody:secret@127.0.0.1:1/nowhere') }, 1);
    const { log, lines } = aLog();
    await using telemetry = await aTelemetry(away, [aJob()], { log });
    const samples = await scrape(telemetry);
    expect(samples.gmsi_warehouse_up).toBe(0);
    expect(samples).toHaveProperty('process_cpu_seconds_total');
    const known = Object.keys(samples).filter((sample) => /^gmsi_(windows|job|queue|workers)/.test(sample));
    expect(known).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ level: 40, msg: 'the warehouse could not be read for metrics' });
    await away.destroy();
  });
});

describe('the port', () => {
  it('is refused in words if it is taken and was asked for', async ({ db }) => {
    await using first = await aTelemetry(db, []);
    const port = Number(new URL(first.url).port);
    const config = { ...aConfig, metrics: { ...aConfig.metrics, port } };
    await expect(aTelemetry(db, [], { config })).rejects.toMatchObject({
      name: 'ConfigError',
      hint: expect.stringContaining('GMSI_METRICS_PORT'),
    });
  });

  it('is another one if the usual one is taken and none was asked for', async ({ db }) => {
    const config = { ...aConfig, metrics: { ...aConfig.metrics, port: undefined } };
    await using first = await aTelemetry(db, [], { config });
    await using second = await aTelemetry(db, [], { config });
    expect(second.url).not.toBe(first.url);
    expect((await scrape(second)).gmsi_warehouse_up).toBe(1);
  });
});

it.each([
  ['counts up to the end of a period that is over', '2024-12-29', '2024-12-31', 48 * 3600],
  ['is never below zero', '2026-11-20', '2026-11-20', 0],
])('the lag of a job %s', (_, covered, to, seconds) => {
  const period = { from: Temporal.PlainDate.from('2024-01-01'), to: Temporal.PlainDate.from(to) };
  expect(lagSeconds(covered, period, now)).toBe(seconds);
});
