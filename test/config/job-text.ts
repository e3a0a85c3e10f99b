import { Temporal } from 'temporal-polyfill';
import type { Job } from '../../src/config/job.ts';
import { JobFileError } from '../../src/config/problems.ts';
import { parseJob } from '../../src/config/read-job.ts';

export const today = Temporal.PlainDate.from('2026-11-02');

/** The least that a job file must say, with other keys added or put in their place; one key a line, in this order. */
export function jobText(keys: Readonly<Record<string, string>> = {}): string {
  const all = { countries: '[US, GB]', topics: '[Inflation-Food]', start_date: '2016-01-01', ...keys };
  return Object.entries(all)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');
}

export function jobFromText(text: string): Job {
  return parseJob({ path: 'jobs/test.yaml', name: 'test', text }, today);
}

export function aJob(keys: Readonly<Record<string, string>> = {}): Job {
  return jobFromText(jobText(keys));
}

/** What is wrong with a job file, a line a problem, as a user reads it. */
export function refusalOf(read: () => unknown): string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof JobFileError) return error.message.split('\n').filter((line) => !line.endsWith(':'));
    throw error;
  }
  return [];
}
