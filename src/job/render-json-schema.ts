import { jobFileJsonSchema } from './schema.ts';

/** The text of jobs/job.schema.json, by which editors complete and check job files. */
export function renderJobSchema(): string {
  return `${JSON.stringify({ title: 'gmsi job file', ...jobFileJsonSchema() }, null, 2)}\n`;
}
