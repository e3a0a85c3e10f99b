import { describe, expect, it } from 'vitest';
import { gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlace } from './place.ts';

const burst = 20;
/** Some twenty requests with two topics, some ten with one: about a burst, or half of one. */
const jobOf = (country: string, rate: number, topics = quarter.topics) =>
  jobFor(
    { ...quarter, countries: [country], topics },
    { step: 'P9D', service: { rate, burst, end_date: 'inclusive', page_size: 1000 } },
  );

describe('processes on one key', () => {
  it('that run one after the other have one burst between them', async () => {
    // So slowly that what comes back between the two is far less than a burst.
    await using setting = await aSetting(5);
    for (const job of ['US', 'DE']) expect(await setting.backfill(job, gmsiHere)).toMatchObject({ code: 0 });
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });

  it('that run at the same time keep to the limit together, without a setting', async () => {
    // So slowly that a second between their starts is worth one request, and that the bucket never runs empty.
    await using setting = await aSetting(1, quarter.topics.slice(1));
    const ended = await Promise.all(['US', 'DE'].map((job) => setting.backfill(job)));
    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(setting.statuses()).toEqual(['200']);
    const { requests } = setting.sandbox.stats();
    expect(requests).toBeGreaterThan(burst + 3);
    // Permits of a process that stood still for half a second are void; else each is for a request.
    expect(await setting.permitsTaken()).toBeLessThan(1.5 * requests);
  });
});

/** Two jobs, a warehouse of their own, and a sandbox that judges the limit. */
async function aSetting(perSecond: number, topics?: string[]) {
  const place = await aPlace({ limits: { perSecond, burst }, volume: 0.1 });
  const { folder, sandbox, warehouse, setting } = place;
  for (const country of ['US', 'DE'])
    await folder.write(`jobs/${country}.yaml`, jobOf(country, perSecond, topics));
  const begun = new Date();
  return {
    ...place,
    backfill: (job: string, start = gmsi) => start(['backfill', job], setting),
    statuses: () => Object.keys(sandbox.stats().byStatus),
    /** What is in the one bucket of all, and at most what has leaked out of it. */
    async permitsTaken() {
      const buckets = await warehouse.db.selectFrom('gmsi.request_rate').selectAll().execute();
      expect(buckets).toHaveLength(1);
      const [{ in_bucket, counted_at }] = buckets as [(typeof buckets)[0]];
      return in_bucket + ((counted_at.getTime() - begun.getTime()) / 1000) * perSecond;
    },
  };
}
