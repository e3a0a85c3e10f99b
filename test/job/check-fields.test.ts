import { expect, test } from 'vitest';
import { checkFields } from '../../src/job/check-fields.ts';
import { aJob, refusalOf } from './job-text.ts';

const columns = ['published_at', 'headline'];

test('names for columns that the feed has are taken', () => {
  expect(refusalOf(() => checkFields(aJob({ fields: '{ headline: title }' }), columns))).toEqual([]);
});

test('names for a column that the feed does not have are refused, with the nearest that it has', () => {
  expect(refusalOf(() => checkFields(aJob({ fields: '{ headlin: title }' }), columns))).toEqual([
    'jobs/test.yaml:4:11  fields.headlin  unknown; did you mean "headline"?',
  ]);
});
