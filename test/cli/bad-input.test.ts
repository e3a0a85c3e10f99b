import { beforeAll, expect, it } from 'vitest';
import { accessTo, gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll();

beforeAll(async () => {
  await folder.write('jobs/good.yaml', jobFor(quarter));
  await folder.write(
    'jobs/typo.yaml',
    'feed: gmsi-headlines\ncontries: [US]\ntopics: all\nstart_date: 2024-01-01\n',
  );
  await folder.write('jobs/topic.yaml', jobFor({ ...quarter, topics: ['Inflation-Fod'] }));
  await folder.write('empty', '');
});

interface Mistake {
  readonly args: string[];
  readonly env?: Record<string, string | undefined>;
  readonly what: RegExp;
  readonly hint: RegExp;
}

const password = 's3cret-Passw0rd';
const backfill = ['backfill', 'good'];
const mistakes: Record<string, Mistake> = {
  'an unknown command': {
    args: ['backfil'],
    what: /unknown command 'backfil'\.$/,
    hint: /Did you mean backfill\?/,
  },
  'an unknown option': { args: ['backfill', '--ful'], what: /unknown option '--ful'/, hint: /--help/ },
  'a job left out': {
    args: ['backfill'],
    what: /Name a job, or use --all/,
    hint: /Jobs in jobs: good, topic, typo/,
  },
  'an unknown word after migrate': {
    args: ['migrate', 'up'],
    what: /no gmsi migrate up/,
    hint: /migrate status/,
  },
  'a port that is no number': {
    args: ['sandbox', '--port', 'x'],
    what: /--port "x" is not valid/,
    hint: /whole number/,
  },
  'no key and no address': {
    args: backfill,
    env: { GMSI_API_KEY: undefined, GMSI_BASE_URL: undefined },
    what: /GMSI_API_KEY and GMSI_BASE_URL are not set/,
    hint: /gmsi init/,
  },
  'no address': {
    args: ['lookups'],
    env: { GMSI_BASE_URL: '' },
    what: /^gmsi: GMSI_BASE_URL is not set/,
    hint: /gmsi init/,
  },
  'an address of the service that is none': {
    args: ['lookups'],
    env: { GMSI_BASE_URL: 'api.example.com' },
    what: /GMSI_BASE_URL is not an address/,
    hint: /https:/,
  },
  'an address that the key would reach unencrypted': {
    args: backfill,
    env: { GMSI_BASE_URL: 'http://api.example.com' },
    what: /^gmsi: GMSI_BASE_URL is http:\/\/api\.example\.com: the key would be sent unencrypted/,
    hint: /https:.*GMSI_SEND_KEY_UNENCRYPTED=true/,
  },
  'an address of the live feeds that the key would reach unencrypted': {
    args: ['lookups'],
    env: { GMSI_LIVE_BASE_URL: 'http://192.0.2.1:8080/v1' },
    what: /^gmsi: GMSI_LIVE_BASE_URL is http:\/\/192\.0\.2\.1:8080: the key would be sent unencrypted/,
    hint: /https:.*GMSI_SEND_KEY_UNENCRYPTED=true/,
  },
  'a switch that is neither on nor off': {
    args: ['status'],
    env: { GMSI_SEND_KEY_UNENCRYPTED: 'perhaps' },
    what: /GMSI_SEND_KEY_UNENCRYPTED is "perhaps"/,
    hint: /true or false/,
  },
  'another kind of database': {
    args: ['status'],
    env: { DATABASE_URL: `mysql://user:${password}@host/db` },
    what: /DATABASE_URL is not the address of a PostgreSQL database/,
    hint: /postgres:\/\/user:password@host:5432\/database/,
  },
  'a database address that cannot be read': {
    args: ['status'],
    env: { DATABASE_URL: `postgres://user:${password}@[host/db` },
    what: /DATABASE_URL is not the address/,
    hint: /%40/,
  },
  'a badly escaped password': {
    args: ['status'],
    env: { DATABASE_URL: `postgres://user:${password}%zz@host/db` },
    what: /DATABASE_URL is not the address/,
    hint: /%40/,
  },
  'a wrong password': {
    args: ['status'],
    env: { DATABASE_URL: '<wrong password>' },
    what: /The warehouse refuses the user/,
    hint: /Check user and password in DATABASE_URL/,
  },
  'an unknown database': {
    args: ['status'],
    env: { DATABASE_URL: '<unknown database>' },
    what: /no such database: database "nosuch" does not exist/,
    hint: /createdb/,
  },
  'an unknown field in a job file': {
    args: ['backfill', 'typo'],
    what: /contries +unknown; did you mean/,
    hint: /Correct jobs\/typo\.yaml/,
  },
  'an unknown topic in a job file': {
    args: ['backfill', 'topic'],
    what: /"Inflation-Fod".*did you mean "Inflation-Food"/,
    hint: /Correct jobs\/topic\.yaml/,
  },
  'an unknown job': { args: ['backfill', 'goood'], what: /no job file goood/, hint: /Did you mean good\?/ },
  'a key file that is not there': {
    args: backfill,
    env: { GMSI_API_KEY: undefined, GMSI_API_KEY_FILE: 'nowhere' },
    what: /GMSI_API_KEY_FILE cannot be read: .*nowhere/,
    hint: /the key/,
  },
  'an empty key file': {
    args: backfill,
    env: { GMSI_API_KEY: undefined, GMSI_API_KEY_FILE: 'empty' },
    what: /names an empty file: .*empty/,
    hint: /the key/,
  },
  'a key and a key file': {
    args: backfill,
    env: { GMSI_API_KEY_FILE: 'empty' },
    what: /both set/,
    hint: /Unset one/,
  },
  'a key of two words': {
    args: backfill,
    env: { GMSI_API_KEY: `${password} b` },
    what: /contains a space/,
    hint: /one word/,
  },
  'a log level that is none': {
    args: ['status'],
    env: { LOG_LEVEL: 'loud' },
    what: /LOG_LEVEL is "loud"/,
    hint: /debug/,
  },
  'a lease that is no number': {
    args: ['status'],
    env: { GMSI_LEASE_SECONDS: 'x' },
    what: /GMSI_LEASE_SECONDS is "x"/,
    hint: /seconds/,
  },
};

it.each(Object.entries(mistakes))(
  '%s: says what and what to do and exits with 2; a stack shows with --verbose only, a secret never',
  async (_, mistake) => {
    const plain = await run(mistake);
    const verbose = await run({ ...mistake, args: [...mistake.args, '--verbose'] });

    expect(plain).toMatchObject({ code: 2, stdout: '' });
    const lines = plain.stderr.trimEnd().split('\n');
    const what = lines.slice(0, -1).join('\n');
    expect(what).toMatch(/^gmsi: /);
    expect(what).toMatch(mistake.what);
    expect(lines.at(-1)).toMatch(/^ {2}→ /);
    expect(lines.at(-1)).toMatch(mistake.hint);
    expect(plain.stderr).not.toMatch(/^\s+at /m);
    expect(verbose).toMatchObject({ code: 2, stdout: '' });
    expect(verbose.stderr).toMatch(/^\s+at /m);
    expect(plain.stderr + verbose.stderr).not.toContain(password);
  },
);

it('what is built refuses it as well, and shows with --verbose where in the sources, although it is not readable', async () => {
  const mistake = mistakes['an unknown topic in a job file']!;
  expect(await run(mistake, gmsi)).toEqual(await run(mistake));
  const { stderr } = await run({ ...mistake, args: [...mistake.args, '--verbose'] }, gmsi);
  expect(stderr).toMatch(/^\s+at \w+ \(.*\/src\/config\/[\w-]+\.ts:\d+:\d+\)/m);
});

function run({ args, env = {} }: Mistake, start = gmsiHere) {
  const wrong = new URL(warehouse.url);
  wrong.password = password;
  const unknown = new URL(warehouse.url);
  unknown.pathname = '/nosuch';
  const stand: Record<string, string> = {
    '<wrong password>': wrong.href,
    '<unknown database>': unknown.href,
  };
  const whole = { ...accessTo(warehouse, sandbox), ...env };
  const given = Object.entries(whole).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, stand[value] ?? value] as const],
  );
  return start(args, { cwd: folder.path, env: Object.fromEntries(given) });
}
