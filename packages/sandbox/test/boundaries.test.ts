import { expect, test } from 'vitest';
import { startSandbox } from '../src/index.ts';

test.each([
  [[], 'options: Invalid input: expected object'],
  [{ volum: 2 }, 'Unrecognized key: "volum"'],
  [{ limits: { perDay: 2 } }, 'limits: Unrecognized key: "perDay"'],
  [{ volume: '2' }, 'volume: Invalid input: expected number'],
  [{ endDate: 'Inclusiv' }, 'endDate: Invalid option: expected one of "inclusive"|"exclusive"'],
  [{ timeZone: 'Mars/Olympus' }, 'timeZone: expected an IANA time zone'],
  [{ archive: { from: '2026-02-30' } }, 'archive.from: Invalid ISO date'],
  [{ archive: { topics: ['Inflation-Foo'] } }, 'archive.topics[0]: expected the name of a topic'],
  [{ faults: { random: { rest: 0.1 } } }, 'faults.random'],
  [
    { faults: { random: { reset: 0.6, hang: 0.6 } } },
    'faults.random: expected shares that are at most 1 together',
  ],
  [{ faults: { script: [{ kind: 'rest' }] } }, 'faults.script[0].kind: Invalid'],
  [{ faults: { script: [{ kind: 'latency', s: 1 }] } }, 'faults.script[0]: Unrecognized key: "s"'],
  [{ faults: { script: [{ kind: 'auth', status: 404 }] } }, 'faults.script[0].status: Invalid option'],
  [{ clock: '12:00' }, 'clock: '],
])('options %j are refused', async (options: object, message) => {
  await expect(startSandbox(options)).rejects.toThrow(message);
});

test('a script is checked when it is set', async () => {
  await using sandbox = await startSandbox();
  const step = { kind: 'html', status: 404 };
  expect(() => sandbox.script([step as never])).toThrow('status: Invalid option: expected one of 502|200');
});
