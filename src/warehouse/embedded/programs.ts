import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Account, childEnvironment } from './account.ts';
import type { Binaries } from './binaries.ts';
import { watchedName } from './hold.ts';

/** A program of PostgreSQL's, and where it is run. */
export interface Program {
  readonly account: Account | undefined;
  readonly cwd?: string;
  readonly PGDATA?: string;
}

/** Runs a program to its end. @throws Error with the last line that it said */
export function run(program: string, args: readonly string[], where: Program): Promise<void> {
  return new Promise((done, failed) => {
    const child = start(program, args, where, ['ignore', 'ignore', 'pipe']);
    let said = '';
    child.stderr!.on('data', (chunk) => {
      said += chunk;
    });
    child.on('error', failed);
    child.on('exit', (code) =>
      code === 0
        ? done()
        : failed(new Error(said.trim().split('\n').pop() || `${program} ended with ${code}`)),
    );
  });
}

/**
 * Starts a server in a folder of data. It stops again at `settle` if nobody has seen to it that it stops some day
 * (`watchedName`), also where whoever started it is killed before that.
 * @returns `undefined` where it does not start
 */
export async function startServer(
  { pgCtl }: Binaries,
  args: readonly string[],
  where: Program,
): Promise<{ settle(): Promise<void> } | undefined> {
  if (process.platform === 'win32') {
    const started = run(pgCtl, args, where);
    return started.then(
      () => ({ settle: async () => {} }),
      () => undefined,
    );
  }
  // The shell outlives a user who is killed meanwhile, and learns of it by the end of its input.
  const script = `
    "$@" </dev/null >/dev/null 2>&1 || exit
    trap '' PIPE
    echo started
    read -r _
    { read -r pid; read -r _; read -r since; } <postmaster.pid
    [ "$pid $since" = "$(cat ${watchedName})" ] || "$1" stop -m fast -w`;
  const child = start('/bin/sh', ['-c', script, 'sh', pgCtl, ...args], where, ['pipe', 'pipe', 'ignore']);
  const ended = once(child, 'exit').then(() => false);
  ended.catch(() => {});
  child.stdin!.on('error', () => {});
  const isStarted = await Promise.race([once(child.stdout!, 'data').then(() => true), ended]);
  if (!isStarted) return undefined;
  return {
    async settle() {
      child.stdin!.end();
      await ended;
    },
  };
}

/**
 * Not in our working directory, which the server's user may not be able to enter; messages in English; in a session of its
 * own, so that Ctrl-C does not end an initdb half-way.
 */
function start(
  program: string,
  args: readonly string[],
  { account, cwd = '/', PGDATA }: Program,
  stdio: ('ignore' | 'pipe')[],
): ChildProcess {
  const env = { ...childEnvironment, ...(PGDATA === undefined ? {} : { PGDATA }) };
  return spawn(program, args, { ...account, cwd, detached: true, env, stdio });
}
