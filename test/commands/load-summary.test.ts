import { expect, it } from 'vitest';
import { describeSummary, type LoadSummary } from '../../src/commands/load-summary.ts';
import { goneBack } from '../../src/load/evidence.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { noTotals } from '../../src/warehouse/tables/loads.ts';

const noWindows = { pending: 0, draining: 0, drained: 0, failed: 0, refused: 0 };

it.each([
  ['complete, except for refused windows', { windows: { ...noWindows, refused: 1 } }],
  ['not complete, 1 window left', { windows: { ...noWindows, failed: 1 } }],
  ['not complete', { error: goneBack('this load') }],
  ['not complete', { error: goneBack('this load'), windows: { ...noWindows, refused: 1 } }],
  ['not complete', { live: { series: 0, records: 0, failed: 1 } }],
])('a load that is not done is said to be %s', (said, about) => {
  const summary = {
    job: { name: 'desk', path: 'jobs/desk.yaml' },
    outcome: 'incomplete',
    error: undefined,
    loadId: 1,
    totals: noTotals,
    rejectedValues: new Map(),
    windows: noWindows,
    budget: { used: 0, limit: 1 },
    ...about,
  } as unknown as LoadSummary;
  expect(withoutMarks(describeSummary(summary)).split('\n')[0]).toBe(`desk: ${said}`);
});
