import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { microsecondsOf, readTime, scanTime } from '../../src/feeds/reading/read-time.ts';

describe('a time', () => {
  test.each([
    ['2026-05-21T13:00:00', '2026-05-21T13:00:00Z'],
    ['2026-05-21 13:00:00', '2026-05-21T13:00:00Z'],
    ['2026-05-21t13:00:00z', '2026-05-21T13:00:00Z'],
    ['2026-05-21T13:00:00Z', '2026-05-21T13:00:00Z'],
    ['2026-05-21 13:00:00 UTC', '2026-05-21T13:00:00Z'],
    ['2026-05-21T13:00', '2026-05-21T13:00:00Z'],
    ['2026-05-21', '2026-05-21T00:00:00Z'],
    ['2026-05-21T13:00:00+00:00', '2026-05-21T13:00:00Z'],
    ['2026-05-21T13:00:00-00:00', '2026-05-21T13:00:00Z'],
    ['2026-05-21T13:00:00+0530', '2026-05-21T07:30:00Z'],
    ['2026-05-21T23:00:00-05', '2026-05-22T04:00:00Z'],
    ['2026-05-21T13:00:00.5', '2026-05-21T13:00:00.500000Z'],
    ['2026-05-21T13:00:00.123456', '2026-05-21T13:00:00.123456Z'],
    ['2026-05-21T13:00:00.123456789+01:00', '2026-05-21T12:00:00.123456Z'],
    ['2026-05-21T13:00:00.000', '2026-05-21T13:00:00Z'],
    ['2024-02-29T00:00:00', '2024-02-29T00:00:00Z'],
    ['2000-02-29', '2000-02-29T00:00:00Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z'],
    ['2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00Z'],
    [1779368400, '2026-05-21T13:00:00Z'],
    ['1779368400', '2026-05-21T13:00:00Z'],
    [1779368400123, '2026-05-21T13:00:00.123000Z'],
    ['1779368400123', '2026-05-21T13:00:00.123000Z'],
    [1779368400.25, '2026-05-21T13:00:00.250000Z'],
    ['1779368400.000001', '2026-05-21T13:00:00.000001Z'],
  ])('is read from %j', (sent, expected) => {
    expect(readTime(sent)).toBe(expected);
  });

  test.each([
    ['2026-02-30'],
    ['2026-02-29T00:00:00'],
    ['1900-02-29'],
    ['2026-04-31'],
    ['2026-13-01'],
    ['2026-00-10'],
    ['2026-05-00'],
    ['2026-05-21T24:00:00'],
    ['2026-05-21T13:60:00'],
    ['2026-05-21T13:00:61'],
    ['2026-05-21T13:00:00+16:00'],
    ['2026-05-21T13:00:00+01:60'],
    ['2026-05-21T13'],
    ['26-05-21'],
    ['20260521'],
    ['20260521130000'],
    ['21/05/2026'],
    ['yesterday'],
    ['2026-05-21T13:00:00\n'],
    ['1899-12-31T23:59:59'],
    ['2101-01-01'],
    ['2100-12-31T23:30:00-01:00'],
    ['0050-01-01T00:00:00+01:00'],
    [0],
    [20260521],
    [-1779368400],
    [5e9],
    [1e300],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [true],
    [['2026-05-21']],
    [{ $date: '2026-05-21' }],
  ])('is not read from %j', (sent) => {
    expect(readTime(sent)).toBeUndefined();
  });

  test('is the same instant that JavaScript reads, whatever the zone it is written in', () => {
    const instants = fc.date({
      min: new Date('1901-01-01T00:00:00Z'),
      max: new Date('2099-12-31T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instants, fc.integer({ min: -14 * 60, max: 14 * 60 }), (instant, offset) => {
        const local = new Date(instant.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0');
        const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
        const read = readTime(`${local}${offset < 0 ? '-' : '+'}${hours}:${minutes}`);
        expect(new Date(read ?? 'unread').getTime()).toBe(instant.getTime());
      }),
    );
  });

  test('is read from its bytes as from its text, or left to the reader of texts', () => {
    const digits = (most: number) => fc.nat({ max: most }).map((n) => String(n).padStart(2, '0'));
    const usual = fc
      .tuple(fc.integer({ min: 1880, max: 2120 }), digits(13), digits(32), digits(25), digits(61), digits(61))
      .map(([year, month, day, ...time]) => `${year}-${month}-${day}T${time.join(':')}`);
    const changed = fc
      .tuple(usual, fc.nat({ max: 18 }), fc.string({ minLength: 1, maxLength: 1 }))
      .map(([time, at, by]) => time.slice(0, at) + by + time.slice(at + 1));
    const ending = fc.constantFrom('', 'Z', 'z', '.5', '+01:00', ' ');
    let scanned = 0;
    fc.assert(
      fc.property(fc.oneof(usual, changed), ending, (time, end) => {
        const read = scanTime(Buffer.from(`"${time}${end}"`), 1, 1 + Buffer.byteLength(time + end));
        if (read === undefined) return;
        scanned++;
        expect(read).toBe(microsecondsOf(readTime(time + end)!));
      }),
      { numRuns: 5000 },
    );
    expect(scanned).toBeGreaterThan(100);
  });

  test('is not read from its bytes if the calendar or the day does not have it', () => {
    const scan = (time: string) => scanTime(Buffer.from(time), 0, time.length);
    expect(scan('2024-02-29T23:59:59Z')).toBe(Date.UTC(2024, 1, 29, 23, 59, 59) * 1000);
    expect(scan('1900-01-01T00:00:00')).toBe(Date.UTC(1900, 0, 1) * 1000);
    for (const time of [
      '2026-02-29T00:00:00',
      '2026-03-20T24:00:00',
      '2026-03-20T23:60:00',
      '1899-12-31T23:59:59',
    ])
      expect(scan(time)).toBeUndefined();
  });

  test('is canonical: reading what was read changes nothing', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1901, max: 2099 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
      fc.integer({ min: 0, max: 999_999 }),
    );
    fc.assert(
      fc.property(parts, ([year, month, day, micros]) => {
        const two = (number: number) => String(number).padStart(2, '0');
        const read = readTime(
          `${year}-${two(month)}-${two(day)} 05:06:07.${String(micros).padStart(6, '0')}+02`,
        );
        expect(read).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/);
        expect(readTime(read)).toBe(read);
      }),
    );
  });
});

test('a day of zeros is none, also as the first that is read', async () => {
  vi.resetModules();
  const fresh = await import('../../src/feeds/reading/read-time.ts');
  const zeros = Buffer.from('0000-00-00T00:00:00');
  expect(fresh.scanTime(zeros, 0, zeros.length)).toBeUndefined();
});
