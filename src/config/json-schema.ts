import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { jsonSchemaOfFeed } from './check-against-feed.ts';
import { usualFeed } from './job-keys.ts';
import { jobFileSchema } from './job-schema.ts';

/**
 * Returns the JSON Schema of a job file as a user writes it, with the rules of each feed. Editors complete and check job files
 * with it (jobs/job.schema.json).
 */
export function jobFileJsonSchema() {
  const keys = z.toJSONSchema(jobFileSchema, {
    io: 'input',
    target: 'draft-7',
    // Editors would show zod's maximum for every whole number.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const perFeed = [...catalog.values()].map((feed) => ({
    // A file without `feed` matches every `const`, so only the default feed's rules may apply to it.
    if: {
      properties: { feed: { const: feed.name } },
      ...(feed.name !== usualFeed && { required: ['feed'] }),
    },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: jsonSchemaOfFeed(feed),
  }));
  return { title: 'gmsi job file', ...keys, allOf: perFeed };
}
