import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';

test.each([
  [{ timeZone: 'Mars/Olympus' }, 'timeZone is "Mars/Olympus"'],
  [{ historicalDelayMinutes: Number.NaN }, 'historicalDelayMinutes is NaN'],
  [{ faults: { random: { reset: 0.6, hang: 0.6 } } }, 'faults.random adds up to 1.2'],
  [{ faults: { random: { reset: -1 } } }, 'faults.random.reset is -1'],
  [{ changes: { late: 2 } }, 'changes.late is 2'],
  [{ records: { hourShare: Number.NaN } }, 'records.hourShare is NaN'],
  [{ volum: 2 }, 'unknown option volum'],
  [{ limits: { perDay: 2 } }, 'unknown option limits.perDay'],
  [{ archive: { until: '2026-01-01' } }, 'unknown option archive.until'],
])('options %j are refused', async (options: object, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});
