// A process that does nothing but ask, eight requests at a time, as fast as the shared rate of its key allows: what is
// measured is the rate, not what a page costs.
// node asker.mjs <service> <database> <seconds>
import { createClient } from '../dist/api/client.js';
import { defaultServiceSettings as settings } from '../dist/job/service-settings.js';
import { sharedLimiter } from '../dist/pipeline/shared-rate.js';
import { Secret } from '../dist/secret.js';
import { connect } from '../dist/warehouse/connect.js';

const [baseUrl, database, seconds] = process.argv.slice(2);
const apiKey = new Secret(process.env.GMSI_API_KEY);
const warehouse = connect({ kind: 'url', url: new Secret(database) }, 6);
const limiter = sharedLimiter(warehouse, apiKey, settings);
const budget = { book: async () => {} };
const client = createClient({ baseUrl, apiKey, settings, budget, limiter, userAgent: 'bench' });

const never = new AbortController().signal;
const end = performance.now() + seconds * 1000;
const ask = async () => {
  while (performance.now() < end) await client.getJson({ path: '/countries', query: {} }, never);
};
await Promise.all(Array.from({ length: settings.concurrency }, ask));
await client.close();
await warehouse.destroy();
