import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { jsonSchemaOfFeed } from './check-against-feed.ts';
import { usualFeed } from './job-keys.ts';
import { jobFileSchema } from './job-schema.ts';

/**
 * The JSON Schema of a job file as a user writes it, with what each feed's jobs must and must not have. It is published as
 * jobs/job.schema.json, by which editors complete and check job files.
 */
export function jobFileJsonSchema() {
  const keys = z.toJSONSchema(jobFileSchema, {
    io: 'input',
    target: 'draft-7',
    // zod's bounds of every whole number are noise in an editor.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const perFeed = [...catalog.values()].map((feed) => ({
    // A file that names no feed fits any `const`, so only the usual one may apply to it.
    if: {
      properties: { feed: { const: feed.name } },
      ...(feed.name !== usualFeed && { required: ['feed'] }),
    },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: jsonSchemaOfFeed(feed),
  }));
  return { title: 'gmsi job file', ...keys, allOf: perFeed };
}
