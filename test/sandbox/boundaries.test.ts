import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';

test.each([
  [{ timeZone: 'Mars/Olympus' }, 'timeZone is "Mars/Olympus"'],
  [{ volum: 2 }, 'unknown option volum'],
  [{ limits: { perDay: 2 } }, 'unknown option limits.perDay'],
  [{ archive: { until: '2026-01-01' } }, 'unknown option archive.until'],
])('options %j are refused', async (options: object, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});
