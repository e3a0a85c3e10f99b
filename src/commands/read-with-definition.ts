import { jobFacts, type Session } from '../compose.ts';
import { definitionOf } from '../job/definition.ts';
import { findJobFile } from '../job/find-job-file.ts';
import type { Job } from '../job/job.ts';
import { parseJob } from '../job/parse-job.ts';
import type { RegisteredJob } from '../warehouse/queries/schedules.ts';

/** A job, and what of its file is kept for workers that do not have it. */
export interface ReadJob extends Pick<RegisteredJob, 'job' | 'definition'> {
  readonly parsed: Job;
}

/** Reads and checks a job file. */
export async function readWithDefinition(session: Session, nameOrPath: string): Promise<ReadJob> {
  const file = await findJobFile(nameOrPath, process.cwd());
  return { job: file.name, definition: definitionOf(file), parsed: parseJob(file, jobFacts(session)) };
}
