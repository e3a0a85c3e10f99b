import { expect, it } from 'vitest';
import { completeTo } from '../../src/answer/complete-to.ts';

const to = '2026-11-28';
const ended = { to: '2020-12-31', complete_to: '2020-12-31' };

it.each([
  ['no job', [], undefined],
  ['a job without its first day', [{ to, complete_to: null }, ended], undefined],
  [
    'the job that is behind',
    [
      { to, complete_to: '2026-11-20' },
      { to, complete_to: to },
    ],
    '2026-11-20',
  ],
  ['a job that goes on, beside one that ended', [{ to, complete_to: '2026-11-27' }, ended], '2026-11-27'],
  ['jobs that are whole', [{ to, complete_to: to }, ended], to],
])('names the day of %s', (_, jobs, day) => expect(completeTo(jobs)).toBe(day));
