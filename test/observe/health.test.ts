import { expect } from 'vitest';
import type { Readiness } from '../../src/observe/server.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { aLog } from '../support/a-log.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { anEmptyDatabase } from '../support/test-warehouse.ts';
import { aTelemetry } from './a-telemetry.ts';

const it = serving({ limits: null, volume: 0.1 });

async function ask(warehouse: Warehouse, path: string, stop = new AbortController().signal) {
  const { log, lines } = aLog();
  await using telemetry = await aTelemetry(warehouse, [], { stop, log });
  const answer = await fetch(`${telemetry.url}${path}`);
  const logged = lines.filter(({ msg }) => msg === 'not ready').map(({ why }) => why);
  return { status: answer.status, body: (await answer.json()) as Partial<Readiness>, logged };
}

it('/readyz says yes if work can be done, and no while the program shuts down', async ({ db }) => {
  expect(await ask(db, '/readyz')).toEqual({
    status: 200,
    body: { ready: true, reasons: [], jobs: {} },
    logged: [],
  });
  expect(await ask(db, '/readyz', AbortSignal.abort())).toEqual({
    status: 503,
    body: { ready: false, reasons: ['shutting down'], jobs: {} },
    logged: [],
  });
});

it('/readyz counts jobs by their state, and is ready although one cannot run', async ({ db, sandbox }) => {
  const job = aJob({ start_date: '2026-09-01', end_date: '2026-09-10' });
  await runBackfill({ job, db, sandbox });
  const wrong = { ...aJob({ countries: ['UK'] }), name: 'wrong' };
  await using telemetry = await aTelemetry(db, [job, wrong], { unreadable: () => ['broken'] });
  const ask = async () => {
    const answer = await fetch(`${telemetry.url}/readyz`);
    return [answer.status, await answer.json()];
  };
  // The first answer does not wait for the states.
  await expect.poll(ask).toEqual([200, { ready: true, reasons: [], jobs: { good: 1, failing: 2 } }]);
});

it('/readyz says no if the schema is not this program’s, and what is wrong only to the log', async () => {
  await using empty = await anEmptyDatabase();
  expect(await ask(empty.db, '/readyz')).toEqual({
    status: 503,
    body: { ready: false, reasons: ['schema'], jobs: {} },
    logged: [expect.stringMatching(/^it lacks 0001_service, /)],
  });
});

it('without a warehouse, /readyz says no, and why only to the log; /healthz says that the process lives', async () => {
  const url = new Secret('postgres://nobody:secret@127.0.0.1:1/nowhere');
  await using away = connect({ kind: 'url', url }, 1);
  expect(await ask(away, '/readyz')).toEqual({
    status: 503,
    body: { ready: false, reasons: ['warehouse'], jobs: {} },
    logged: [expect.stringMatching(/ECONNREFUSED/)],
  });
  expect(await ask(away, '/healthz')).toEqual({ status: 200, body: { alive: true }, logged: [] });
});
