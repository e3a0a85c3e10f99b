import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Sandbox } from '#sandbox';
import { movedTime } from '../support/moved-time.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';

/** The program of this checkout, built. */
export const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** How a process ended, and all that it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of the program that is under way. */
export interface Running {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Ended>;
}

export interface Setting {
  /** The whole environment but for what every process needs; nothing of the tests' own leaks in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The program to run, if it is not the one of this checkout. */
  readonly cli?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Started as the first of a process group of its own. */
  readonly detached?: boolean;
}

/** Starts `gmsi` with these arguments. */
export function startGmsi(args: readonly string[], { env, cwd, cli = program, ...user }: Setting): Running {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      TMPDIR: tmpdir(),
      ...movedTime,
      GMSI_EMBEDDED_IDLE_SECONDS: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text;
  });
  return {
    pid: child.pid!,
    kill: (signal) => child.kill(signal),
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, ...said })),
  };
}

/** Runs `gmsi` to its end. */
export function gmsi(args: readonly string[], setting: Setting): Promise<Ended> {
  return startGmsi(args, setting).ended;
}

/** A working directory of a test's own, gone when disposed. */
export interface Folder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file of it, JSON if it is not text, and says where. */
  write(name: string, content: string | object): Promise<string>;
}

export async function aFolder(name = 'gmsi cli '): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), name));
  return {
    path,
    async write(file, content) {
      const target = join(path, file);
      await mkdir(join(target, '..'), { recursive: true });
      // Renamed, so that no worker reads half of it. YAML holds JSON.
      await writeFile(`${target}.part`, typeof content === 'string' ? content : JSON.stringify(content));
      await rename(`${target}.part`, target);
      return target;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** The environment of somebody who has a database and a key for the sandbox. */
export function accessTo(
  warehouse: Pick<TestWarehouse, 'url'>,
  sandbox: Pick<Sandbox, 'url'>,
  key = 'sandbox-key',
): Record<string, string> {
  return { DATABASE_URL: warehouse.url, GMSI_BASE_URL: sandbox.url, GMSI_API_KEY: key };
}

const containing = (what: string | RegExp) =>
  typeof what === 'string' ? expect.stringContaining(what) : expect.stringMatching(what);

/** How a command is to end that prints something. */
export const prints = (code: number, what: string | RegExp) => ({ code, stdout: containing(what) });

/** How a command is to end that says something on standard error. With 2, it prints nothing. */
export const says = (code: number, what: string | RegExp) => ({
  code,
  stderr: containing(what),
  ...(code === 2 && { stdout: '' }),
});
