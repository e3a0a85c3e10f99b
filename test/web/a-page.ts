import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../src/secret.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { allEndpoints } from '../../src/web/endpoints.ts';
import { serveWeb, type WebOptions } from '../../src/web/server.ts';

export const clock = () => new Date('2026-11-20T12:00:00Z');

/** `gmsi serve` in this process, with a page of one line, on a port of its own. */
export async function aPage(warehouse: Warehouse, options: Partial<WebOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-page-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>the page</title>');
  const apiKey = new Secret('sandbox-key');
  const endpoints = allEndpoints(warehouse, { cwd: folder, leaseSeconds: 30, apiKey, clock });
  const web = await serveWeb(warehouse, {
    ...{ host: '127.0.0.1', port: 0, names: [], token: undefined, page: folder, endpoints },
    ...options,
  });
  return {
    ...{ url: web.url, folder, endpoints },
    async [Symbol.asyncDispose]() {
      await web[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
