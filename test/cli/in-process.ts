import type { EventEmitter } from 'node:events';
import { vi } from 'vitest';
import { nextStepOf, parseTyped } from '../support/typed-commands.ts';
import type { Ended, Setting } from './gmsi.ts';

let runs = 0;

/**
 * Runs the command line in this process: what it prints and the code that it would exit with, without the half second
 * that a process takes to start. For one command at a time; not for what is about signals, streams, memory or a terminal.
 * @throws if it suggests a next command that the program does not take
 */
export async function gmsiHere(
  args: readonly string[],
  { env, cwd }: Pick<Setting, 'env' | 'cwd'>,
): Promise<Ended> {
  const said = { stdout: '', stderr: '' };
  const capture = (name: 'stdout' | 'stderr') =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      said[name] += text;
      return true;
    });
  const outside = { env: process.env, argv: process.argv, cwd: process.cwd(), code: process.exitCode };
  const removeListeners = keepingListeners();
  const spies = [capture('stdout'), capture('stderr')];
  try {
    process.env = { PATH: outside.env.PATH, HOME: cwd, ...env };
    process.argv = [process.execPath, 'gmsi', ...args];
    process.exitCode = undefined;
    process.chdir(cwd);
    // Its first module runs on import, so each run imports it under another name; all others are shared.
    await import(/* @vite-ignore */ new URL(`../../src/cli.ts?run=${++runs}`, import.meta.url).href);
    const next = nextStepOf(said.stdout);
    if (next !== undefined) await parseTyped(next);
    return { code: Number(process.exitCode ?? 0), signal: null, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
    removeListeners();
    process.env = outside.env;
    process.argv = outside.argv;
    process.exitCode = outside.code;
    process.chdir(outside.cwd);
  }
}

/** Takes away, when called, the listeners that came since: a process of its own would have taken them with it. */
function keepingListeners(): () => void {
  const emitters: readonly EventEmitter[] = [process, process.stdout, process.stderr];
  const before = emitters.map((emitter) =>
    emitter.eventNames().map((name) => [name, new Set(emitter.rawListeners(name))] as const),
  );
  return () => {
    for (const [index, emitter] of emitters.entries()) {
      const kept = new Map(before[index]);
      for (const name of emitter.eventNames()) {
        for (const listener of emitter.rawListeners(name)) {
          if (!kept.get(name)?.has(listener)) emitter.removeListener(name, listener as () => void);
        }
      }
    }
  };
}
