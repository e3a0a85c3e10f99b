import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect } from 'vitest';
import { makeReader } from '../../src/warehouse/make-reader.ts';
import type { aWarehouse } from '../support/test-warehouse.ts';
import { root } from './pages.ts';

/** What runs the blocks marked with a tool's name, and what is there only if the tool is. Debian has all of them. */
export const tools: Readonly<Record<string, { run: readonly string[]; probe: readonly string[] }>> = {
  pandas: {
    run: ['/usr/bin/python3', '-'],
    probe: ['/usr/bin/python3', '-c', 'import pandas, sqlalchemy, psycopg2'],
  },
  R: { run: ['Rscript', '-'], probe: ['Rscript', '-e', 'library(DBI); library(RPostgreSQL)'] },
  isql: { run: ['sh'], probe: ['sh', '-c', 'command -v isql && odbcinst -q -d | grep "PostgreSQL Unicode"'] },
};

const found = new Map<string, boolean>();

export function isThere(tool: string): boolean {
  const { probe } = tools[tool]!;
  // Once for all tests that ask: a probe takes a quarter of a second.
  if (!found.has(tool)) found.set(tool, spawnSync(probe[0]!, probe.slice(1)).status === 0);
  return found.get(tool)!;
}

/** Makes a login with `gmsi psql --reader` for all tests of the file that calls this at its top, and runs programs with it. */
export function asReader({ db, url }: Awaited<ReturnType<typeof aWarehouse>>) {
  const reader = `reader_${randomUUID().replaceAll('-', '')}`;
  let environment: Record<string, string>;
  beforeAll(async () => {
    const { password } = await makeReader(db, reader);
    const { hostname: PGHOST, port: PGPORT, pathname } = new URL(url);
    const login = { PGDATABASE: pathname.slice(1), PGUSER: reader, PGPASSWORD: password.reveal() };
    const python = { PYTHONPATH: join(root, 'examples'), PYTHONDONTWRITEBYTECODE: '1' };
    const shell = { PATH: process.env.PATH!, HOME: tmpdir(), LANG: 'C.UTF-8' };
    environment = { ...shell, ...python, PGHOST, PGPORT, ...login };
  });
  afterAll(async () => {
    await sql.raw(`drop role ${reader}`).execute(db);
  });

  /** Returns what a program prints that ends well. */
  return async (tool: string, program: string, cwd = tmpdir()): Promise<string> => {
    const { run } = tools[tool]!;
    const child = spawn(run[0]!, run.slice(1), { env: environment, cwd });
    child.stdin.end(program);
    const [output, problems, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ code, problems: code === 0 ? '' : problems + output }).toEqual({ code: 0, problems: '' });
    return output;
  };
}
