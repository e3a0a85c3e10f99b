import { z } from 'zod';
import { answerReader, jobRow } from '../answer/answer.ts';
import { causeRow } from '../answer/causes.ts';
import { shared } from '../in-time.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Endpoint } from './endpoint.ts';

const usual = { takes: z.strictObject({}), rights: 'own', isLive: true } as const;

/** Returns the endpoints that say how the jobs of a folder stand. A page asks both at once, so they share the reading. */
export function answerEndpoints(warehouse: Warehouse, of: Parameters<typeof answerReader>[1]) {
  const readAnswer = answerReader(warehouse, of);
  const read = shared(() => readAnswer());
  return [
    {
      ...usual,
      path: 'jobs' as const,
      about: 'The jobs: how each stands, what it has loaded, what a backfill costs, next run and budget',
      row: jobRow,
      answer: { read: async () => (await read()).jobs },
    },
    {
      ...usual,
      path: 'causes' as const,
      about: 'What is wrong, what costs data first, with what cures it',
      row: causeRow,
      answer: { read: async () => (await read()).causes },
    },
  ] as const satisfies readonly Endpoint[];
}
