/** A page as it goes over the wire. */
export interface ServedPage {
  readonly body: Buffer;
  readonly records: number;
  readonly nextToken: string | null;
}

export type PageCache = ReturnType<typeof pageCacheOf>;

/** Keeps recent pages, at most `bytes` of bodies in total. Drops the least recently used one first. */
export function pageCacheOf(bytes: number) {
  const pages = new Map<string, ServedPage>();
  let held = 0;
  return {
    get(key: string): ServedPage | undefined {
      const page = pages.get(key);
      if (page !== undefined) {
        pages.delete(key);
        pages.set(key, page);
      }
      return page;
    },
    keep(key: string, page: ServedPage): void {
      pages.set(key, page);
      held += page.body.length;
      for (const [oldest, { body }] of pages) {
        if (held <= bytes) break;
        pages.delete(oldest);
        held -= body.length;
      }
    },
  };
}
