import { isMap } from './check-against-feed.ts';
import type { JobFileText } from './find-job-file.ts';
import type { Job } from './job.ts';
import { type JobFacts, parseJob } from './parse-job.ts';
import { parseYaml } from './parse-yaml.ts';

/** What a job file says, as plain values that can be stored where others read them. */
export type JobDefinition = Readonly<Record<string, unknown>>;

/** What a job file that has been checked says, without its secrets. */
export function definitionOf({ path, text }: JobFileText): JobDefinition {
  const file = parseYaml(path, text).value as JobDefinition;
  if (!isMap(file.alerts)) return file;
  const { webhook_url: _, ...alerts } = file.alerts;
  return { ...file, alerts };
}

/**
 * Reads a job from its stored definition.
 * @throws JobFileError where it was stored by a version of the program that knows other keys
 */
export function jobFromDefinition(name: string, definition: JobDefinition, facts: JobFacts): Job {
  return parseJob({ path: `gmsi.jobs: ${name}`, name, text: JSON.stringify(definition) }, facts);
}
