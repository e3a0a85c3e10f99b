import { describe, expect, it } from 'vitest';
import { dueSince } from '../../src/worker/mark-due.ts';

const at = (time: string) => new Date(time);

function due(cron: string | null, timezone: string, firedAt: string, now: string): string | undefined {
  return dueSince({ cron, timezone, fired_at: at(firedAt) }, at(now))?.toISOString();
}

describe('a schedule', () => {
  it('is due at its next time, and not before', () => {
    expect(due('15 * * * *', 'UTC', '2026-11-20T11:15:00Z', '2026-11-20T12:14:59Z')).toBeUndefined();
    expect(due('15 * * * *', 'UTC', '2026-11-20T11:15:00Z', '2026-11-20T12:15:00Z')).toBe(
      '2026-11-20T12:15:00.000Z',
    );
  });

  it('is due in its own time zone', () => {
    expect(due('30 9 * * *', 'Asia/Kolkata', '2026-11-19T12:00:00Z', '2026-11-20T03:59:59Z')).toBeUndefined();
    expect(due('30 9 * * *', 'Asia/Kolkata', '2026-11-19T12:00:00Z', '2026-11-20T04:00:00Z')).toBe(
      '2026-11-20T04:00:00.000Z',
    );
  });

  it('that was missed often is due since the first time', () => {
    expect(due('0 1 * * *', 'UTC', '2026-11-01T01:00:00Z', '2026-11-20T12:00:00Z')).toBe(
      '2026-11-02T01:00:00.000Z',
    );
  });

  it('is never due without a cron expression, or by one that names no day', () => {
    expect(due(null, 'UTC', '2020-01-01T00:00:00Z', '2026-11-20T12:00:00Z')).toBeUndefined();
    expect(due('0 2 30 2 *', 'UTC', '2020-01-01T00:00:00Z', '2026-11-20T12:00:00Z')).toBeUndefined();
  });

  it.each([
    // Clocks go from 02:00 to 03:00 on 28 March 2027, and from 03:00 back to 02:00 on 25 October 2026.
    ['that clocks leave out, at the end of the gap', '2027-03-27T01:30:00Z', '2027-03-28T01:00:00.000Z'],
    ['after a gap, at its usual time', '2027-03-28T01:00:00Z', '2027-03-29T00:30:00.000Z'],
    ['that clocks show twice, the first time', '2026-10-24T00:30:00Z', '2026-10-25T00:30:00.000Z'],
    ['that clocks show twice, once', '2026-10-25T00:30:00Z', '2026-10-26T01:30:00.000Z'],
  ])('is due at a time %s', (_, firedAt, expected) => {
    expect(due('30 2 * * *', 'Europe/Oslo', firedAt, '2028-01-01T00:00:00Z')).toBe(expected);
  });

  it('that is hourly is due every hour that passes, whatever clocks show', () => {
    const times = [];
    let last = '2026-10-24T23:15:00.000Z';
    for (let hour = 0; hour < 4; hour++) {
      last = due('15 * * * *', 'Europe/Oslo', last, '2028-01-01T00:00:00Z')!;
      times.push(last.slice(11, 16));
    }
    expect(times).toEqual(['00:15', '01:15', '02:15', '03:15']);
  });
});
