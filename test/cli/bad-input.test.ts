import { spawnSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { cases } from '../support/cases.ts';
import { gmsi, program } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, warehouse, setting } = await aPlaceForAll();

beforeAll(async () => {
  await folder.write('jobs/good.yaml', jobFor(quarter));
  await folder.write('jobs/topic.yaml', jobFor({ ...quarter, topics: ['Inflation-Fod'] }));
  await folder.write('empty', '');
  expect(await gmsiHere(['lookups'], setting)).toMatchObject({ code: 0 });
});

const password = 's3cret-Passw0rd';

/** What is wrong | arguments | variables that are set, or taken away by a minus | what is said | what to do. */
const mistakes = cases`
  an unknown command | backfil |  | unknown command 'backfil'\n +\(Did you mean backfill\?\) | --help
  an unknown option | backfill --ful |  | unknown option '--ful' | --help
  a job left out | backfill |  | Name a job, or use --all | Jobs in jobs: good, topic
  a port that is no number | sandbox --port x |  | '--port <number>' argument 'x' is invalid\. It must be a whole number | --help
  no request that a backfill may send | backfill good --max-requests 0 | 
      | '--max-requests <number>' argument '0' is invalid\. It must be a whole number of at least 1 | --help
  a number of requests for the workers | backfill good --enqueue --max-requests 5 | 
      | option '--enqueue' cannot be used with option '--max-requests <number>' | --help
  no key and no address | backfill good | -GMSI_API_KEY & -GMSI_BASE_URL | GMSI_API_KEY and GMSI_BASE_URL are not set | gmsi init
  no address | lookups | GMSI_BASE_URL= | ^gmsi: GMSI_BASE_URL is not set | gmsi init
  an address of the service that is none | lookups | GMSI_BASE_URL=api.example.com | GMSI_BASE_URL is not an address | https:
  an address that the key would reach unencrypted | backfill good | GMSI_BASE_URL=http://api.example.com
      | ^gmsi: GMSI_BASE_URL is http:\/\/api\.example\.com: the key would be sent unencrypted
      | https:.*GMSI_SEND_KEY_UNENCRYPTED=true
  an address of the live feeds that the key would reach unencrypted | lookups | GMSI_LIVE_BASE_URL=http://192.0.2.1:8080/v1
      | ^gmsi: GMSI_LIVE_BASE_URL is http:\/\/192\.0\.2\.1:8080: the key would be sent unencrypted
      | https:.*GMSI_SEND_KEY_UNENCRYPTED=true
  a switch that is neither on nor off | status | GMSI_SEND_KEY_UNENCRYPTED=perhaps | GMSI_SEND_KEY_UNENCRYPTED is "perhaps"
      | true or false
  another kind of database | status | DATABASE_URL=mysql://user:${password}@host/db
      | DATABASE_URL is not the address of a PostgreSQL database | postgres:\/\/user:password@host:5432\/database
  a database address that cannot be read | status | DATABASE_URL=postgres://user:${password}@[host/db
      | DATABASE_URL is not the address | %40
  a badly escaped password | status | DATABASE_URL=postgres://user:${password}%zz@host/db | DATABASE_URL is not the address | %40
  a password with a slash that is not escaped | status | DATABASE_URL=postgres://user:12/${password}@host/db
      | ^gmsi: DATABASE_URL is not the address of a PostgreSQL database\.$ | %2F
  a password with a question mark that is not escaped | status | DATABASE_URL=postgres://user:1?${password}=1@host/db
      | ^gmsi: DATABASE_URL is not the address of a PostgreSQL database\.$ | %3F
  a parameter of the database address that there is not | status
      | DATABASE_URL=postgres://user:${password}@host/db?sslmod=verify-full | DATABASE_URL has an unknown parameter sslmod\.
      | Did you mean sslmode\?
  a way to send the password that is asked for | status |
      DATABASE_URL=postgres://user:${password}@host/db?require_auth=scram-sha-256
      | require_auth in DATABASE_URL is not supported | sslmode=verify-full
  a mode of encryption that there is not | status | DATABASE_URL=postgres://user:${password}@host/db & PGSSLMODE=requier
      | sslmode is "requier" | disable, prefer, require, verify-ca, verify-full
  two hosts | status | DATABASE_URL=postgres://h1,h2:5432/db?target_session_attrs=read-write
      | DATABASE_URL names several hosts; one is supported | primary
  a wrong password | status | DATABASE_URL=<wrong password> | The warehouse refuses the user
      | Check user and password in DATABASE_URL
  an unknown database | status | DATABASE_URL=<unknown database> | no such database: database "nosuch" does not exist | createdb
  an unknown job | backfill goood |  | no job file goood | Did you mean good\?
  a key file that is not there | backfill good | -GMSI_API_KEY & GMSI_API_KEY_FILE=${password}
      | GMSI_API_KEY_FILE cannot be read: no such file or directory\. | path of a file that contains only the key
  an empty key file | backfill good | -GMSI_API_KEY & GMSI_API_KEY_FILE=empty | names an empty file: .*empty | the key
  a key and a key file | backfill good | GMSI_API_KEY_FILE=empty | both set | Unset one
  a key of two words | backfill good | GMSI_API_KEY=${password} b | contains a space | one word
  a key instead of the address of the service | status | GMSI_BASE_URL=${password}:x
      | ^gmsi: GMSI_BASE_URL does not begin with https:\/\/ | https:
  an account that is no name | status | GMSI_ACCOUNT=${password} x | GMSI_ACCOUNT is not the name of an account | research-desk
  the key as the account | status | GMSI_API_KEY=${password} & GMSI_ACCOUNT=${password}
      | GMSI_ACCOUNT is not the name of an account | research-desk
  a dry run of nothing | check --dry-run | | --dry-run needs --repair\. | --repair records
  a dry run of rollups | check --repair rollups --dry-run | | takes no --dry-run | "rollups"
  days of windows | check --repair windows --from 2025-01-01 | | need --repair rollups | omit
  a job of rollups | check good --repair rollups | | --repair rollups takes no job | whole warehouse
  a move with an argument | migrate status --to postgres://h/d | | --to and --release take no argument | Omit status
  a login and a query | psql --reader analyst report.sql | | --reader takes nothing else | Omit report\.sql
  a bucket with its credentials | export good --out s3://key:${password}@bucket/folder |
      | s3:\/\/ address of the export is not that of a place in a bucket | AWS_SECRET_ACCESS_KEY
`;

it.each(mistakes)(
  '%s: says what and what to do and exits with 2; a stack shows with --verbose only, a secret never',
  async (_, args, env, what, hint) => {
    const plain = await run(args!, env!);
    const verbose = await run(`${args} --verbose`, env!);

    expect(plain).toMatchObject({ code: 2, stdout: '' });
    const lines = plain.stderr.trimEnd().split('\n');
    const told = lines.slice(0, -1).join('\n');
    expect(told).toMatch(/^gmsi: /);
    expect(told).toMatch(new RegExp(what!));
    expect(lines.at(-1)).toMatch(/^ {2}→ /);
    expect(lines.at(-1)).toMatch(new RegExp(hint!));
    expect(plain.stderr).not.toMatch(/^\s+at /m);
    expect(verbose).toMatchObject({ code: 2, stdout: '' });
    expect(verbose.stderr).toMatch(/^\s+at /m);
    expect(plain.stderr + verbose.stderr).not.toContain(password);
  },
);

it('what is built refuses it as well, and shows with --verbose where in the sources, although it is not readable', async () => {
  const unknownTopic = 'backfill topic';
  const here = await run(unknownTopic, '');
  const { stderr, ...built } = await run(`${unknownTopic} --verbose`, '', gmsi);
  expect({ ...built, stderr: here.stderr }).toEqual(here);
  expect(stderr).toContain(here.stderr);
  expect(stderr).toMatch(/^\s+at \w+ \(.*\/src\/config\/[\w-]+\.ts:\d+:\d+\)/m);
});

it.each(cases`
  a working folder that was deleted | mkdir gone && cd gone && rmdir ../gone | the working folder: no such file or directory
      | folder that exists
  too few open files | ulimit -n 30 | open .*: too many open files | ulimit -n 1024
`)('%s is an error of the machine, not a bug', (_, first, what, hint) => {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', `${first} && exec "$0" "$1" status`, process.execPath, program],
    {
      cwd: folder.path,
      env: { PATH: process.env.PATH, ...setting.env },
      encoding: 'utf8',
    },
  );
  expect(stderr).toMatch(new RegExp(`^gmsi: The system refuses ${what}\\n  → .*${hint}.*\\n$`));
  expect(status).toBe(2);
});

function run(args: string, env: string, start = gmsiHere) {
  const wrong = new URL(warehouse.url);
  wrong.password = password;
  const unknown = new URL(warehouse.url);
  unknown.pathname = '/nosuch';
  const given: Record<string, string> = { ...setting.env };
  for (const one of env.split(' & ').filter(Boolean)) {
    const [, name = '', value = ''] = /^(?:-|)(\w+)=?(.*)$/.exec(one)!;
    if (one.startsWith('-')) delete given[name];
    else
      given[name] = value.replace('<wrong password>', wrong.href).replace('<unknown database>', unknown.href);
  }
  return start(args.split(' '), { cwd: folder.path, env: given });
}
