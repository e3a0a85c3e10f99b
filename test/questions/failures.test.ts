import { expect } from 'vitest';
import { countFailures } from '../../src/questions/status.ts';
import { it } from '../support/serving.ts';
import { windowsIn } from '../support/warehouse-state.ts';

it('counts failed windows by cause, the commonest first, with its commonest message', async ({ db }) => {
  const failed = (day: number, cause: string, last_error: string) => ({
    ...{ first_day: `2026-01-0${day}`, last_day: `2026-01-0${day}`, state: 'failed', cause, last_error },
  });
  await windowsIn(db, [
    failed(1, 'cursor', 'Z'),
    failed(2, 'temporary', 'A'),
    failed(3, 'temporary', 'B'),
    failed(4, 'temporary', 'B'),
    failed(5, 'withdrawn', 'Y'),
  ]);
  const scope = {
    ...{ feed: 'gmsi-headlines', countries: ['US'], topics: ['Inflation-Food'], tickers: [''] },
    ...{ matchType: 'COMBINED', variants: [''], from: '2026-01-01', to: '2026-01-31' },
  };
  expect(await countFailures(db, scope)).toEqual({
    windows: 5,
    reasons: [
      { cause: 'temporary', reason: 'B', windows: 3 },
      { cause: 'cursor', reason: 'Z', windows: 1 },
      { cause: 'withdrawn', reason: 'Y', windows: 1 },
    ],
  });
});
