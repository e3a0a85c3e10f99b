import { expect, it } from 'vitest';
import { keepServiceTime } from '../../src/service/clock.ts';

const date = 'Fri, 20 Nov 2026 12:00:00 GMT';

it('goes on from the Date of the last answer', () => {
  let passed = 0;
  const time = keepServiceTime(() => passed);
  expect(time.now()).toBeUndefined();
  time.note({ date }, 300);
  passed = 90_000;
  expect(time.now()).toEqual({ date: new Date('2026-11-20T12:01:30Z'), mayBeLaterMs: 1300 });
  time.note({ date: 'Fri, 20 Nov 2026 13:00:00 GMT' }, 0);
  expect(time.now()!.date).toEqual(new Date('2026-11-20T13:00:00Z'));
});

it('counts the time that an answer has lain in a cache', () => {
  const time = keepServiceTime(() => 0);
  time.note({ date, age: '7200' }, 0);
  expect(time.now()!.date).toEqual(new Date('2026-11-20T14:00:00Z'));
});

it.each([[undefined], ['soon'], [''], [['Fri, 20 Nov 2026 12:00:00 GMT', 'Fri, 20 Nov 2026 12:00:00 GMT']]])(
  'is not known by a Date that is %o',
  (unreadable) => {
    const time = keepServiceTime(() => 0);
    time.note({ date: unreadable }, 0);
    expect(time.now()).toBeUndefined();
    time.note({ date, age: 'old' }, 0);
    time.note({ date: unreadable }, 0);
    expect(time.now()!.date).toEqual(new Date('2026-11-20T12:00:00Z'));
  },
);
