// A process that does nothing but ask, eight requests at a time, as fast as the shared rate of its key allows: what is
// measured is the rate, not what a page costs.
// tsx asker.ts <service> <database> <seconds>

import { defaultServiceSettings as settings } from '../src/config/service-schema.ts';
import { Secret } from '../src/secret.ts';
import { createClient } from '../src/service/client.ts';
import { openPermits } from '../src/service/permits.ts';
import { connect } from '../src/warehouse/connect.ts';

const [baseUrl = '', database = '', seconds = ''] = process.argv.slice(2);
const apiKey = new Secret(process.env.GMSI_API_KEY!);
const warehouse = connect({ kind: 'url', url: new Secret(database) }, 6);
const month = { budget: Number.MAX_SAFE_INTEGER, clock: () => new Date() };
const permits = openPermits(warehouse, apiKey, { ...settings, ...month });
const client = createClient({ baseUrl, apiKey, settings, permits, userAgent: 'bench' });

const never = new AbortController().signal;
const end = performance.now() + Number(seconds) * 1000;
const ask = async () => {
  while (performance.now() < end) await client.getJson({ path: '/countries', query: {} }, never);
};
await Promise.all(Array.from({ length: settings.concurrency }, ask));
await client.close();
await warehouse.destroy();
