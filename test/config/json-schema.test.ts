import { expect, test } from 'vitest';
import { renderJobSchema } from '../../src/config/json-schema.ts';
import { known } from './job-text.ts';

test('the published JSON Schema is the one that job files are checked by', async () => {
  await expect(renderJobSchema(known)).toMatchFileSnapshot('../../jobs/job.schema.json');
});
