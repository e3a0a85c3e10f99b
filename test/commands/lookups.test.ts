import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { type Sandbox, startSandbox } from '#sandbox';
import { lookups as lookupsCommand } from '../../src/commands/lookups.ts';
import { KeyRefused, RequestRefused } from '../../src/service/errors.ts';
import { readLookups } from '../../src/warehouse/tables/lookups.ts';
import { serving } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { runCommand } from './run-command.ts';

const warnings = 40;
const refused = { kind: 'refuse', status: 404 } as const;
const notForKey = { kind: 'auth', status: 403 } as const;
const at = (path: string) => (request: { path: string }) => request.path === path;

const lookups = (place: { warehouse: TestWarehouse; sandbox: Sandbox; json?: boolean }, words?: string) =>
  runCommand(place, (session) => lookupsCommand.run(session, words, {}));

async function bookedIn({ db }: TestWarehouse): Promise<number> {
  const [row] = await db.selectFrom('gmsi.api_usage').select('requests').execute();
  return Number(row?.requests ?? 0);
}

const test = serving({ limits: null });

describe('gmsi lookups', () => {
  test('refreshes and lists all lists of the service, for five requests', async ({ warehouse, sandbox }) => {
    const { code, output, log } = await lookups({ warehouse, sandbox });

    expect(code).toBe(0);
    expect(log.filter(({ level }) => level >= warnings)).toEqual([]);
    expect(output).toMatch(/^NO +Norway$/m);
    expect(output).toMatch(/^Inflation-Food +\S/m);
    expect(output).toMatch(/^BTC_CRY +Bitcoin$/m);
    expect(output).toMatch(/^Meridian Wire$/m);
    expect(output).toMatch(/^en +English$/m);
    expect(output).toContain(
      '97 countries, 70 topics, 61 tickers, 45 sources, 13 languages, for 5 requests\n',
    );
    expect(sandbox.stats().requests).toBe(5);
    expect(await bookedIn(warehouse)).toBe(5);
  });

  test('gmsi.topic_guide has each topic that the service lists, with its rules', async ({
    warehouse,
    sandbox,
    db,
  }) => {
    await lookups({ warehouse, sandbox });
    const headers = { 'x-api-key': 'sandbox-key' };
    const response = await fetch(`${sandbox.url}/v1/headlines/topics/gmsi`, { headers });
    const listed = (await response.json()) as {
      name: string;
      category: string;
      classification_rule: { directional: string; semantic_sentiment: string };
    }[];
    const guide = sql`select topic, category, directional_rule, semantic_rule from gmsi.topic_guide where listed`;
    const { rows } = await guide.execute(db);
    expect(rows).toHaveLength(70);
    expect(new Set(rows)).toEqual(
      new Set(
        listed.map(({ name, category, classification_rule: rule }) => ({
          topic: name,
          category,
          directional_rule: rule.directional,
          semantic_rule: rule.semantic_sentiment,
        })),
      ),
    );

    await sql`update gmsi.topics set classification_rule = '"Up is more."'`.execute(db);
    expect((await guide.execute(db)).rows[0]).toMatchObject({
      directional_rule: 'Up is more.',
      semantic_rule: 'Up is more.',
    });
  });
});

describe('a list that the key may not read', () => {
  test.for([
    ['tickers', '/v1/ticker', refused],
    ['sources', '/v1/sources', { kind: 'auth', status: 401 } as const],
    ['languages', '/v1/taxonomy/languages', notForKey],
  ] as const)('is a warning for %s; others are refreshed', async ([list, path, fault], { warehouse, db }) => {
    const script = [{ ...fault, match: at(path) }];
    await using sandbox = await startSandbox({ limits: null, faults: { script } });
    const { code, log } = await lookups({ warehouse, sandbox });

    expect(code).toBe(0);
    expect(log.filter(({ level }) => level >= warnings).map(({ msg }) => msg)).toEqual([
      expect.stringMatching(new RegExp(`^${list} were not refreshed, .*: The service refused`)),
    ]);
    const { refreshedAt } = await readLookups(db);
    const missing = Object.entries(refreshedAt).filter(([, when]) => when === null);
    expect(missing.map(([name]) => name)).toEqual([list]);
    // After a 403, the key is tried again with the list before.
    expect(sandbox.stats().requests).toBe(fault === notForKey ? 6 : 5);
  });

  test('leaves what was listed before as it was', async ({ warehouse, sandbox }) => {
    await lookups({ warehouse, sandbox });
    sandbox.script([{ ...refused, match: at('/v1/ticker') }]);
    const { output, log } = await lookups({ warehouse, sandbox });
    expect(output).toContain('61 tickers');
    expect(log.some(({ msg }) => msg.startsWith('tickers were not refreshed'))).toBe(true);
  });

  test.for([
    ['/v1/countries', KeyRefused],
    ['/v1/headlines/topics/gmsi', RequestRefused],
  ] as const)('is the end where it is %s', async ([path, error], { warehouse }) => {
    const script = [{ ...notForKey, match: at(path) }];
    await using sandbox = await startSandbox({ limits: null, faults: { script } });
    await expect(lookups({ warehouse, sandbox })).rejects.toBeInstanceOf(error);
  });
});

describe('gmsi lookups <words>', () => {
  test('shows the stored names that contain the words, without a request', async ({ warehouse, sandbox }) => {
    await lookups({ warehouse, sandbox });
    const { code, output } = await lookups({ warehouse, sandbox }, 'united');

    expect(code).toBe(0);
    expect(output.split('\n').map((line) => line.replace(/ +/, ' '))).toEqual([
      'country name',
      'AE United Arab Emirates',
      'GB United Kingdom',
      'US United States',
      '',
    ]);
    expect((await lookups({ warehouse, sandbox }, 'inflation-food')).output).toMatch(
      /^topic +category\nInflation-Food /,
    );
    const { topics, tickers } = JSON.parse(
      (await lookups({ warehouse, sandbox, json: true }, 'crude')).output,
    );
    expect({ topics, tickers }).toMatchObject({
      topics: [],
      tickers: [{ name: expect.stringMatching(/crude/i) }, {}],
    });
    expect(sandbox.stats().requests).toBe(5);
  });

  test('fetches missing lists, and says so if no name matches', async ({ warehouse, sandbox }) => {
    const nothing = 'No name in the lists contains "atlantis"';
    expect((await lookups({ warehouse, sandbox }, 'atlantis')).output).toBe(`${nothing}, for 5 requests.\n`);
    expect((await lookups({ warehouse, sandbox }, 'atlantis')).output).toBe(`${nothing}.\n`);
    expect(await bookedIn(warehouse)).toBe(5);
  });
});
