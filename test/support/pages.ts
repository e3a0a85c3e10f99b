import type { Page } from '../../src/service/page.ts';
import type { BackfillSetting } from './run-backfill.ts';

export type AroundPage = NonNullable<BackfillSetting['aroundPage']>;

/** A record of a GMSI headline, as far as tests change it. */
export interface SentRecord {
  readonly id: string;
  readonly publication_time: string;
}

/** Pages as if the service had sent other records. */
export function sending(change: (records: SentRecord[], page: Page) => readonly unknown[]): AroundPage {
  return async (ask) => {
    const page = await ask();
    return { ...page, records: change([...page.records] as SentRecord[], page) };
  };
}

/** Does something once the nth page has come, before it is committed; by then the one before it may not be. */
export function atPage(nth: number, happen: () => unknown): AroundPage {
  let asked = 0;
  return async (ask) => {
    const page = await ask();
    if (++asked === nth) await happen();
    return page;
  };
}
