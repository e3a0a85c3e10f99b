import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '#sandbox';
import { inPackage } from '../../src/package.ts';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { allEndpoints } from '../../src/web/endpoints.ts';
import { serveWeb, type WebOptions } from '../../src/web/server.ts';
import { aLog } from '../support/a-log.ts';
import { aJob, runBackfill, usualClock } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aBrowser } from './a-browser.ts';

export const clock = usualClock;

/** `gmsi serve` in this process, with a page of one line, on a port of its own. */
export async function aPage(warehouse: Warehouse, options: Partial<WebOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-page-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>the page</title>');
  const { log, lines } = aLog();
  const apiKey = new Secret('sandbox-key');
  const endpoints = allEndpoints(warehouse, { cwd: folder, leaseSeconds: 30, apiKey, clock });
  const web = await serveWeb(warehouse, {
    host: '127.0.0.1',
    port: 0,
    names: [],
    token: undefined,
    page: folder,
    endpoints,
    log,
    ...options,
  });
  return {
    url: web.url,
    folder,
    endpoints,
    /** What went wrong inside. */
    log: lines,
    async [Symbol.asyncDispose]() {
      await web[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** A page as it is built over a warehouse of its own, for tests in a browser. */
export async function aBuiltPage() {
  const warehouse = await aWarehouse();
  const served = await aPage(warehouse.db, { page: inPackage('dist/page') });
  const browser = await aBrowser();
  return {
    warehouse,
    served,
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close();
      await served[Symbol.asyncDispose]();
      await warehouse[Symbol.asyncDispose]();
    },
  };
}

/** The same with two months of a few series, one window of which failed. */
export async function aLoadedPage() {
  const page = await aBuiltPage();
  const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
    path.endsWith('/NO') && Object.values(query).includes('Inflation-Food');
  const sandbox = await startSandbox({
    limits: null,
    volume: 0.3,
    clock,
    faults: { script: [{ kind: 'server-error', times: 1, match }] },
  });
  const job = aJob({
    start_date: '2026-09-01',
    end_date: '2026-10-31',
    step: 'P20D',
    service: { max_attempts: 1 },
  });
  await runBackfill({ job, db: page.warehouse.db, sandbox });
  return {
    ...page,
    sandbox,
    async [Symbol.asyncDispose]() {
      await page[Symbol.asyncDispose]();
      await sandbox.stop();
    },
  };
}
