import type { Page } from '../../src/service/page.ts';

export interface Sent {
  readonly id: string;
  readonly directional_positive: number;
}

/** The service has scored some headlines with another model, which has a version of its own. */
export function scoredBy(model_version: string | undefined, isOf: (record: Sent) => boolean = () => true) {
  const scoreAgain = (record: Sent) => ({
    ...record,
    directional_positive: (record.directional_positive + Number(model_version ?? 0.5)) / 10,
  });
  return async (ask: () => Promise<Page>): Promise<Page> => {
    const page = await ask();
    const records = [...page.records] as Sent[];
    return {
      ...page,
      records: records.map((record) => ({
        ...(isOf(record) ? scoreAgain(record) : record),
        ...(model_version !== undefined && { model_version }),
      })),
    };
  };
}
