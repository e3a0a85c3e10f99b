import { describe, expect, it, vi } from 'vitest';
import { accessTo } from './gmsi.ts';
import { jobFor, quarter } from './jobs.ts';
import { hasScript, screenAfter, startOnTerminal } from './on-terminal.ts';
import { aPlace } from './place.ts';

describe.skipIf(!hasScript)('on a terminal (skipped without script(1) of util-linux)', () => {
  it.concurrent.each([60, 80])(
    'draws progress on one line of %i columns and leaves nothing of it behind, with ^C as well',
    async (columns) => {
      await using place = await aPlace({ volume: 0.1 });
      const { folder, sandbox, warehouse } = place;
      const job = await folder.write(
        'job.yaml',
        jobFor(quarter, { service: { rate: 4, burst: 2, page_size: 30 } }),
      );
      const terminal = startOnTerminal(['backfill', job], columns, {
        cwd: folder.path,
        env: accessTo(warehouse, sandbox),
      });

      await vi.waitFor(
        () =>
          expect(screenAfter(terminal.written, columns).at(-1)).toMatch(
            columns === 60 ? /job {2}1\d?\/\d+ windows .* left/ : /^█.* job {2}1\d?\/.* left/,
          ),
        20_000,
      );
      expect(screenAfter(terminal.written, columns)).toHaveLength(1);
      terminal.type('\x03');
      await terminal.ended;

      const screen = screenAfter(terminal.written, columns);
      expect(screen.slice(0, 2)).toEqual([
        'Stopping. Press Ctrl-C again to stop at once.',
        expect.stringMatching(/^job: interrupted, \d+ windows left/),
      ]);
      expect(screen.join('\n')).not.toMatch(/[█░]/);
      // Nothing to be restored by a process that may be killed: no hidden cursor, no other mode of the terminal.
      expect(terminal.written).not.toContain('\x1b[?');
    },
  );
});
