import { expect, test } from 'vitest';
import { startSandbox } from '../src/index.ts';

test.each([
  [[], 'options is []; expected an object'],
  [{ volum: 2 }, 'unknown option volum (did you mean volume?)'],
  [{ limits: { perDay: 2 } }, 'unknown option limits.perDay; expected one of perSecond, burst, perMonth'],
  [{ archive: { until: '2026-01-01' } }, 'unknown option archive.until'],
  [{ volume: '2' }, 'volume is "2"; expected a number from 0'],
  [{ limits: [1] }, 'limits is [1]; expected an object, or null'],
  [
    { endDate: 'Inclusiv' },
    'endDate is "Inclusiv" (did you mean inclusive?); expected "inclusive", "exclusive" or',
  ],
  [{ timeZone: 'Mars/Olympus' }, 'timeZone is "Mars/Olympus"; expected an IANA time zone'],
  [{ archive: { from: '2026-02-30' } }, 'archive.from is "2026-02-30"; expected a day, such as "2025-01-01"'],
  [
    { archive: { topics: ['Inflation-Foo'] } },
    'archive.topics[0] is "Inflation-Foo" (did you mean Inflation-Food?)',
  ],
  [{ faults: { random: { rest: 0.1 } } }, 'unknown option faults.random.rest (did you mean reset?)'],
  [{ faults: { random: { reset: 0.6, hang: 0.6 } } }, 'expected shares that are at most 1 together'],
  [
    { faults: { script: [{ kind: 'rest' }] } },
    'faults.script[0].kind is "rest" (did you mean reset?); expected "latency",',
  ],
  [
    { faults: { script: [{ kind: 'latency', s: 1 }] } },
    'unknown option faults.script[0].s (did you mean ms?)',
  ],
  [
    { faults: { script: [{ kind: 'auth', status: 404 }] } },
    'faults.script[0].status is 404; expected 401 or 403',
  ],
  [{ clock: '12:00' }, 'clock is "12:00"; expected a function'],
])('options %j are refused', async (options: object, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});

test('a script is checked when it is set', async () => {
  await using sandbox = await startSandbox();
  const step = { kind: 'html', status: 404 };
  expect(() => sandbox.script([step as never])).toThrow('status is 404; expected 502 or 200');
});
