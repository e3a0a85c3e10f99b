// A process that does nothing but ask, eight requests at a time, as fast as the shared rate of its key allows: what is
// measured is the rate, not what a page costs.
// node asker.mjs <service> <database> <seconds> [<redis>]
import { createClient } from '../dist/api/client.js';
import { defaultServiceSettings as settings } from '../dist/job/service-settings.js';
import { createLog } from '../dist/log.js';
import { openSharedRate } from '../dist/pipeline/shared-rate.js';
import { Secret } from '../dist/secret.js';
import { connect } from '../dist/warehouse/connect.js';

const [baseUrl, database, seconds, redis] = process.argv.slice(2);
const apiKey = new Secret(process.env.GMSI_API_KEY);
const warehouse = connect({ kind: 'url', url: new Secret(database) }, 6);
const redisUrl = redis === undefined ? undefined : new Secret(redis);
const log = createLog({ level: 'warn', readable: true });
const rate = openSharedRate({ warehouse, apiKey, redisUrl, log });
const limiter = rate.limiter(settings);
const budget = { book: async () => {} };
const client = createClient({ baseUrl, apiKey, settings, budget, limiter, userAgent: 'bench' });

const never = new AbortController().signal;
const end = performance.now() + seconds * 1000;
const ask = async () => {
  while (performance.now() < end) await client.getJson({ path: '/countries', query: {} }, never);
};
await Promise.all(Array.from({ length: settings.concurrency }, ask));
await client.close();
rate[Symbol.dispose]();
await warehouse.destroy();
