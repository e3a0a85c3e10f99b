import { posix, win32 } from 'node:path';
import { z } from 'zod';

const place = 's3://bucket/folder, or the absolute path of a folder';

const isPlace = (text: string) => /^s3:\/\/./.test(text) || posix.isAbsolute(text) || win32.isAbsolute(text);

const oneExport = z.strictObject(
  {
    // Absolute, because any worker may write it, and workers start in different folders.
    to: z.string({ error: place }).refine(isPlace, { error: place }).describe(`Target: ${place}.`),
    format: z
      .enum(['parquet', 'csv'], { error: 'parquet or csv' })
      .default('parquet')
      .describe('File format.'),
    rollup: z
      .enum(['hourly', 'daily'], { error: 'hourly or daily' })
      .exactOptional()
      .describe('Sums by hour or day instead of the headlines; only for feed gmsi-headlines.'),
  },
  { error: 'a map such as { to: s3://bucket/folder }' },
);

/** `exports:` of a job file: what workers export after each run of the job. */
export const exportsSection = z
  .array(oneExport, { error: 'a list such as [{ to: s3://bucket/folder }]' })
  .superRefine((exports, context) => {
    for (const [n, { to }] of exports.entries()) {
      if (exports.findIndex((other) => other.to === to) === n) continue;
      context.addIssue({
        code: 'custom',
        path: [n, 'to'],
        input: to,
        message: 'a different target for each export',
      });
    }
  })
  .prefault([])
  .describe(
    'Exports that `gmsi work` writes after each run of this job: only months that have changed, as `gmsi export --changed-since` does.',
  );
