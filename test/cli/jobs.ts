import type { TruthScope } from '../support/truth.ts';

/** Some thousands of records in several pages a window. */
export const scope: TruthScope = {
  countries: ['US', 'NO'],
  topics: ['Inflation-Food', 'Governance/Corruption'],
  from: '2024-01-01',
  to: '2024-12-31',
};

export const quarter: TruthScope = { ...scope, to: '2024-03-31' };

export const january: TruthScope = { ...scope, to: '2024-01-31' };

/** A job file for a scope: unlimited in rate and retrying at once unless it says otherwise. */
export function jobFor(
  { countries, topics, from, to }: TruthScope,
  overrides: { readonly service?: object; readonly [field: string]: unknown } = {},
): object {
  return {
    countries,
    topics,
    start_date: from,
    end_date: to,
    step: 'P60D',
    ...overrides,
    service: { rate: 'unlimited', concurrency: 4, page_size: 100, max_attempts: 2, ...overrides.service },
  };
}
