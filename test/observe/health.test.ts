import { describe, expect, it } from 'vitest';
import type { Readiness } from '../../src/observe/server.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { anEmptyDatabase, aWarehouse } from '../support/test-warehouse.ts';
import { aTelemetry } from './a-telemetry.ts';

async function ask(warehouse: Warehouse, path: string, stop = new AbortController().signal) {
  await using telemetry = await aTelemetry(warehouse, [], { stop });
  const answer = await fetch(`${telemetry.url}${path}`);
  return { status: answer.status, body: (await answer.json()) as Partial<Readiness> };
}

function anAbsentWarehouse() {
  return connect({ kind: 'url', url: new Secret('postgres://nobody:secret@127.0.0.1:1/nowhere') }, 1);
}

describe('/readyz', () => {
  it('says yes if work can be done', async () => {
    await using warehouse = await aWarehouse();
    expect(await ask(warehouse.db, '/readyz')).toEqual({ status: 200, body: { ready: true, reasons: [] } });
  });

  it('says no while the program shuts down', async () => {
    await using warehouse = await aWarehouse();
    expect(await ask(warehouse.db, '/readyz', AbortSignal.abort())).toEqual({
      status: 503,
      body: { ready: false, reasons: ['shutting down'] },
    });
  });

  it('says no if the schema is not this program’s', async () => {
    await using empty = await anEmptyDatabase();
    const { status, body } = await ask(empty.db, '/readyz');
    expect(status).toBe(503);
    expect(body.reasons).toEqual([expect.stringMatching(/^the schema lacks 0001_service, /)]);
  });

  it('says no if the warehouse does not answer, without its password', async () => {
    const away = anAbsentWarehouse();
    const { status, body } = await ask(away, '/readyz');
    expect(status).toBe(503);
    expect(body.reasons).toEqual([expect.stringMatching(/^the warehouse: .*ECONNREFUSED/)]);
    await away.destroy();
  });
});

it('/healthz says that the process lives, whatever becomes of the warehouse', async () => {
  const away = anAbsentWarehouse();
  expect(await ask(away, '/healthz')).toEqual({ status: 200, body: { alive: true } });
  await away.destroy();
});
