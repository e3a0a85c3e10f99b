import { describe, expect, it } from 'vitest';
import { machineZones, onMachineIn, withoutBrowser } from './without-browser.ts';

const { labelsOf, zoneOfAxis } = await withoutBrowser(
  () => import('../../../src/web/page/draw/time-axis.ts'),
);
const { go } = await withoutBrowser(() => import('../../../src/web/page/address.ts'));

const aDay = 86_400_000;
const anHour = aDay / 24;

describe.each(machineZones)('the labels of an axis, on a machine in %s', (zone) => {
  onMachineIn(zone);

  it('are years, months, days with their year where it changes, and hours with their day likewise', () => {
    const years = [2023, 2024].map((year) => new Date(year, 0, 1));
    expect(labelsOf(years, 365 * aDay)).toEqual(['2023', '2024']);
    const months = [11, 12, 13].map((month) => new Date(2023, month, 1));
    expect(labelsOf(months, 28 * aDay)).toEqual(['2023-12', '2024-01', '2024-02']);
    const days = [30, 31, 32].map((day) => new Date(2023, 11, day));
    expect(labelsOf(days, aDay)).toEqual(['12-30\n2023', '12-31', '01-01\n2024']);
    const hours = [18, 24, 30].map((hour) => new Date(2023, 11, 31, hour, 30));
    expect(labelsOf(hours, 6 * anHour)).toEqual(['18:30\n2023-12-31', '00:30\n2024-01-01', '06:30']);
  });

  it('say all if there is one, and nothing of none', () => {
    expect(labelsOf([new Date(2024, 1, 29)], aDay)).toEqual(['02-29\n2024']);
    expect(labelsOf([], aDay)).toEqual([]);
  });
});

it('hours are shown in the zone of choice, days and what is longer in UTC', async () => {
  expect(zoneOfAxis('hour')).toBe('UTC');
  await withoutBrowser(async () => go({ zone: 'Asia/Tokyo' }));
  expect((['hour', 'day', 'week', 'month'] as const).map(zoneOfAxis)).toEqual([
    'Asia/Tokyo',
    'UTC',
    'UTC',
    'UTC',
  ]);
  await withoutBrowser(async () => go({ zone: null }));
});
