import { vi } from 'vitest';
import type { Sandbox } from '#sandbox';
import type { Session } from '../../src/compose.ts';
import { readConfig } from '../../src/config/environment.ts';
import { aLog, type LogLine } from '../support/a-log.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';

/** What a command answered with, and what a person would have seen. */
export interface Printed {
  readonly code: number;
  readonly output: string;
  readonly log: readonly LogLine[];
}

/** Runs a command in this process, as the command line would, and takes what it prints. */
export async function runCommand(
  {
    warehouse,
    sandbox,
    json = false,
    clock = () => new Date('2026-11-20T12:00:00Z'),
  }: { warehouse: TestWarehouse; sandbox: Sandbox; json?: boolean; clock?: () => Date },
  command: (session: Session) => Promise<number | undefined>,
): Promise<Printed> {
  const { log, lines } = aLog();
  const session: Session = {
    config: readConfig(
      {
        GMSI_API_KEY: 'sandbox-key',
        GMSI_BASE_URL: sandbox.url,
        DATABASE_URL: warehouse.url,
        LOG_LEVEL: 'debug',
        GMSI_HOME: '/nonexistent',
        GMSI_METRICS_PORT: '0',
      },
      '/nonexistent',
    ),
    log,
    clock,
    stop: new AbortController().signal,
    json,
    progress: 'none',
    schemaUse: 'reads',
  };
  let output = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text;
    return true;
  });
  try {
    const code = (await command(session)) ?? 0;
    return { code, output, log: lines };
  } finally {
    write.mockRestore();
  }
}
