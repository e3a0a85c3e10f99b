import { z } from 'zod';
import { jsonSchemaOfFeed } from './check-against-feed.ts';
import { jobFileSchema, type KnownFeeds, usualFeed } from './job-schema.ts';

/** The text of jobs/job.schema.json, which editors use to complete and check job files. */
export function renderJobSchema(known: KnownFeeds): string {
  return `${JSON.stringify({ title: 'gmsi job file', ...jobFileJsonSchema(known) }, null, 2)}\n`;
}

/** The JSON Schema of a job file as a user writes it, for editors; with what each feed's jobs must and must not have. */
export function jobFileJsonSchema(known: KnownFeeds) {
  const keys = z.toJSONSchema(jobFileSchema(known), {
    io: 'input',
    target: 'draft-7',
    // zod's bounds of every whole number are noise in an editor.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const perFeed = [...known.feeds.values()].map((feed) => ({
    // A file that names no feed fits any `const`, so only the usual one may apply to it.
    if: {
      properties: { feed: { const: feed.name } },
      ...(feed.name !== usualFeed && { required: ['feed'] }),
    },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: jsonSchemaOfFeed(feed),
  }));
  return { ...keys, allOf: perFeed };
}
