import { expect, test } from 'vitest';
import { jobFileJsonSchema } from '../../src/config/job-schema.ts';

test('the published JSON Schema is the one that job files are checked by', async () => {
  await expect(`${JSON.stringify(jobFileJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../jobs/job.schema.json',
  );
});
