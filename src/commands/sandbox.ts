import { once } from 'node:events';
import type { Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { type SandboxOptions, startSandbox } from '../sandbox/index.ts';
import { print, printJson } from '../terminal/print.ts';
import { facts } from '../terminal/table.ts';
import { wholeNumber } from './whole-number.ts';

export interface SandboxFlags {
  readonly host: string;
  readonly port: string;
  readonly seed: string;
  readonly key: string[];
  readonly unlimited?: boolean;
  readonly endDate: 'inclusive' | 'exclusive';
  readonly historyLimit?: string;
  readonly options?: string;
}

/** `gmsi sandbox`: serves until it is told to stop. */
export async function sandboxCommand(session: Session, flags: SandboxFlags): Promise<number> {
  await using sandbox = await start(flags);
  const use = { GMSI_BASE_URL: sandbox.url, GMSI_API_KEY: flags.key[0] };
  if (session.json) {
    printJson({ url: sandbox.url, keys: flags.key, pid: process.pid }, 0);
  } else {
    print(
      `${facts([
        ['serving', `${sandbox.url}/v1`],
        ['keys', flags.key.join(', ')],
        ['limits', flags.unlimited ? 'none' : '25 requests a second, bursts of 50, 250,000 a month'],
        ['counts', `${sandbox.url}/_sandbox/stats`],
      ])}\n\nIn another shell:\n  ${Object.entries(use)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')} GMSI_HOME=.gmsi/sandbox npx gmsi backfill demo\n\nCtrl-C ends it.\n`,
    );
  }
  if (!session.stop.aborted) await once(session.stop, 'abort');
  return 0;
}

async function start(flags: SandboxFlags) {
  const options: SandboxOptions = {
    host: flags.host,
    port: wholeNumber('--port', flags.port),
    seed: flags.seed,
    keys: flags.key,
    endDate: flags.endDate,
    ...(flags.unlimited ? { limits: null } : {}),
    ...(flags.historyLimit === undefined
      ? {}
      : { historyLimitDays: wholeNumber('--history-limit', flags.historyLimit) }),
    ...parseOptions(flags.options),
  };
  try {
    return await startSandbox(options);
  } catch (cause) {
    const error = cause as Error & { code?: string };
    const hint =
      error.code === 'EADDRINUSE'
        ? 'Choose another --port; 0 takes a free one.'
        : 'gmsi sandbox --help names the options.';
    throw new ConfigError(`The sandbox does not start: ${error.message}`, { cause, hint });
  }
}

function parseOptions(text = '{}'): SandboxOptions {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError('--options is not JSON.', {
      cause,
      hint: `For instance --options '{"changes":{"late":0.01}}'`,
    });
  }
}
