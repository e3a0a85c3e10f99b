// What is good enough on a first afternoon, to compare with: one window after the other, one page after the other,
// one multi-row upsert a page. No checkpoint, no retries, no budget, no revisions, no partitions.
// node afternoons-script.mjs <service> <database> <windows as JSON>
import pg from 'pg';

const [service, database, windows] = process.argv.slice(2);
const client = new pg.Client({ connectionString: database });
await client.connect();
await client.query(`
  create table public.headlines (
    id uuid, country text, topic text, publication_time timestamptz, headline text, language text, source text,
    url text, match_type text, topic_probability double precision, directional_positive double precision,
    directional_neutral double precision, directional_negative double precision,
    semantic_positive double precision, semantic_neutral double precision, semantic_negative double precision,
    relevance_rank int, entities jsonb, primary key (country, topic, id)
  )`);

const columns = [
  ...['id', 'country', 'topic', 'publication_time', 'headline', 'language', 'source', 'url', 'match_type'],
  ...['topic_probability', 'directional_positive', 'directional_neutral', 'directional_negative'],
  ...['semantic_positive', 'semantic_neutral', 'semantic_negative', 'relevance_rank', 'entities'],
];
const updates = columns.slice(3).map((column) => `${column} = excluded.${column}`);

let records = 0;
for (const { country, topic, startDate, endDate } of JSON.parse(windows)) {
  let token = null;
  do {
    const url = new URL(`${service}/v1/headlines/feed/historical/gmsi/${country}`);
    url.searchParams.set('topic', topic);
    url.searchParams.set('match_type', 'COMBINED');
    url.searchParams.set('start_date', startDate);
    url.searchParams.set('end_date', endDate);
    url.searchParams.set('limit', '1000');
    if (token) url.searchParams.set('next_token', token);
    const response = await fetch(url, { headers: { 'x-api-key': process.env.GMSI_API_KEY } });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const page = await response.json();
    if (page.data.length > 0) await upsert(page.data, country, topic);
    records += page.data.length;
    token = page.next_token;
  } while (token);
}
await client.end();
process.stdout.write(String(records));

async function upsert(data, country, topic) {
  const values = [];
  const rows = data.map((record) => {
    const row = { ...record, country, topic, publication_time: `${record.publication_time}Z` };
    return `(${columns.map((column) => `$${values.push(row[column])}`).join(', ')})`;
  });
  await client.query(
    `insert into public.headlines (${columns.join(', ')}) values ${rows.join(', ')}
     on conflict (country, topic, id) do update set ${updates.join(', ')}`,
    values,
  );
}
