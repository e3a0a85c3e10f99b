import { jobFileJsonSchema, type KnownFeeds } from './schema.ts';

/** The text of jobs/job.schema.json, by which editors complete and check job files. */
export function renderJobSchema(known: KnownFeeds): string {
  return `${JSON.stringify({ title: 'gmsi job file', ...jobFileJsonSchema(known) }, null, 2)}\n`;
}
