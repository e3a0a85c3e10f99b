import { connect as dial } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { aWebhook } from '../observe/a-webhook.ts';
import { type AProxy, aProxy, withCredentials } from '../support/a-proxy.ts';
import { aStorage, envFor } from '../support/a-storage.ts';
import { aCertificate, type Certificate, listening } from '../support/other-servers.ts';
import { allText } from './all-text.ts';
import { accessTo, gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll({ volume: 0.2 });
const [api, hooks, s3] = ['api.example.invalid', 'hooks.example.invalid', 's3.example.invalid'];
const password = 'p@ss/w0rd';
const typed = 'dan:p%40ss%2Fw0rd';
const credentials = `dan:${password}`;
/** What would show the password. */
const forms = [password, typed, Buffer.from(credentials).toString('base64')];
let certificates: { readonly hosts: Certificate; readonly proxy: Certificate };

beforeAll(async () => {
  const names = [api, hooks, s3].map((name) => `DNS:${name}`).join();
  certificates = { hosts: await aCertificate({ host: names }), proxy: await aCertificate() };
  const { hosts, proxy } = certificates;
  await folder.write('ca.pem', hosts.cert + proxy.cert);
  const small = { ...quarter, countries: ['NO'], topics: ['Inflation-Food'], to: '2024-01-31' };
  await folder.write('jobs/job.yaml', jobFor(small, { service: { max_attempts: 1 } }));
});

/** Speaks TLS in front of a server of this machine. */
function tlsBefore(port: number) {
  return listening(
    createTls(certificates.hosts, (client) => {
      const upstream = dial(port, '127.0.0.1');
      client.on('error', () => upstream.destroy());
      upstream.on('error', () => client.destroy());
      client.pipe(upstream).pipe(client);
    }),
  );
}

const portOf = (url: string) => Number(new URL(url).port);

describe('the service, a webhook and a storage behind a proxy with credentials and a certificate of its own', () => {
  it('are all reached through it, and neither it nor anybody else learns the key or the password', async () => {
    await using storage = await aStorage();
    await using webhook = await aWebhook();
    await using service = await tlsBefore(portOf(sandbox.url));
    await using posting = await tlsBefore(portOf(webhook.url.reveal()));
    await using storing = await tlsBefore(portOf(storage.endpoint));
    const behind = {
      [`${api}:443`]: service.port,
      [`${hooks}:443`]: posting.port,
      [`${s3}:443`]: storing.port,
    };
    await using proxy = await aProxy({ credentials, tls: certificates.proxy, hosts: behind });
    const env = {
      ...accessTo(warehouse, sandbox),
      ...envFor(`https://${s3}`),
      GMSI_BASE_URL: `https://${api}`,
      GMSI_ALERT_WEBHOOK_URL: `https://${hooks}/services/T0/t0ken`,
      HTTPS_PROXY: withCredentials(proxy, typed),
      NODE_EXTRA_CA_CERTS: `${folder.path}/ca.pem`,
      LOG_LEVEL: 'trace',
    };
    const detail = 'broken';
    sandbox.script([
      { kind: 'refuse', status: 503, detail, times: 1, match: ({ path }) => path.endsWith('/NO') },
    ]);
    const said: string[] = [];
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await gmsi([...args, '--verbose'], { cwd: folder.path, env });
      said.push(stdout, stderr);
      return { code, stdout, stderr };
    };

    const doctor = await run('doctor');
    expect(doctor.stdout).toMatch(
      new RegExp(
        `✓ configuration +https://${api} through the proxy ${proxy.url} \\(HTTPS_PROXY\\), with a key`,
      ),
    );
    expect(doctor.stdout).toMatch(/✓ service +answers in/);
    expect(await run('backfill', 'job')).toMatchObject({ code: 1 });
    expect(await run('backfill', 'job')).toMatchObject({ code: 0 });
    expect(webhook.taken.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'failed windows raised',
      'failed windows resolved',
    ]);
    expect(await run('export', 'job', '--out', 's3://exports/behind')).toMatchObject({ code: 0 });

    expect(new Set(proxy.asked)).toEqual(new Set(Object.keys(behind)));
    expect(proxy.passed).not.toContain('sandbox-key');
    const stored = await allText(warehouse.db);
    expect(said.join('\n')).not.toContain('Warning');
    for (const text of [said.join('\n'), stored, JSON.stringify(webhook.taken)])
      expect(forms.filter((form) => text.includes(form))).toEqual([]);
  });
});

describe('a proxy that refuses', () => {
  const envOf = (proxy: AProxy) => ({
    ...accessTo(warehouse, sandbox),
    GMSI_BASE_URL: `http://${api}`,
    GMSI_SEND_KEY_UNENCRYPTED: 'true',
    GMSI_ALERT_WEBHOOK_URL: `http://${hooks}/t0ken`,
    HTTP_PROXY: withCredentials(proxy, 'dan:wr0ng'),
    LOG_LEVEL: 'debug',
  });

  it('credentials, ends commands with 2, and doctor names it', async () => {
    await using proxy = await aProxy({ credentials });
    const setting = { cwd: folder.path, env: envOf(proxy) };
    const what = `No connection through the proxy ${proxy.url} (HTTP_PROXY): it refuses the user and password (407).`;
    const loaded = await gmsiHere(['lookups'], setting);
    expect(loaded).toMatchObject({ code: 2 });
    expect(loaded.stderr).toContain(`gmsi: ${what}\n  → Check the user and password in HTTP_PROXY.`);
    const doctor = await gmsiHere(['doctor'], setting);
    expect(doctor.stdout).toContain(`http://${api} through the proxy ${proxy.url} (HTTP_PROXY), with a key`);
    expect(doctor.stdout).toMatch(
      /✗ service +No connection through the proxy .*\(407\)\.\n +→ Check the user and/,
    );
    expect(doctor.code).toBe(2);
    expect(loaded.stderr + doctor.stdout + doctor.stderr).not.toMatch(/wr0ng|ZGFuOndyMG5n/);
  });

  it('a webhook, is named in the log, and the load goes on', async () => {
    const behind = { [`${api}:80`]: portOf(sandbox.url) };
    await using proxy = await aProxy({ hosts: behind });
    const setting = { cwd: folder.path, env: envOf(proxy) };
    const refused = { kind: 'refuse', status: 503, detail: 'broken', times: 1 } as const;
    sandbox.script([{ ...refused, match: ({ path }) => path.endsWith('/NO') }]);
    const { code, stderr } = await gmsiHere(['backfill', 'job', '--full-refresh'], setting);
    expect(code).toBe(1);
    expect(stderr).toMatch(/the webhook did not accept an alert/);
    expect(stderr).toContain(`through the proxy ${proxy.url} (HTTP_PROXY)`);
    expect(stderr).not.toMatch(/wr0ng|t0ken/);
  });

  it.each([
    [407, 2, /it refuses the user and password \(407\)\.\n {2}→ Check the user/],
    [403, 1, /it refuses to connect to s3\.example\.invalid:80 \(403\)\.\n {2}→ Ask those who run the proxy/],
    [502, 1, /it cannot connect to s3\.example\.invalid:80 \(502\)/],
  ])('a storage, with %i, ends an export with %i', async (answer, code, what) => {
    await using proxy = await aProxy({ credentials: 'dan:wr0ng' });
    proxy.answer = answer;
    const env = { ...envOf(proxy), ...envFor(`http://${s3}`) };
    const ended = await gmsiHere(['export', 'job', '--verbose', '--out', 's3://exports/x'], {
      cwd: folder.path,
      env,
    });
    expect(ended.stderr).toMatch(what);
    expect(ended.stderr).toContain(`No connection through the proxy ${proxy.url} (HTTP_PROXY)`);
    expect(ended.stderr).not.toMatch(/wr0ng|ZGFuOndyMG5n/);
    expect(ended.code).toBe(code);
  });
});

describe('a sandbox on this machine', () => {
  it('gets no key through a proxy, which would read it, and is reached directly if NO_PROXY names it', async () => {
    await using proxy = await aProxy();
    const env = { ...accessTo(warehouse, sandbox), http_proxy: proxy.url };
    const refused = await gmsiHere(['lookups'], { cwd: folder.path, env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(
      `the key would be sent unencrypted to the proxy ${proxy.url} (HTTP_PROXY).\n  → Add 127.0.0.1 to NO_PROXY`,
    );
    const direct = { ...env, NO_PROXY: 'localhost,127.0.0.1' };
    expect(await gmsiHere(['lookups'], { cwd: folder.path, env: direct })).toMatchObject({ code: 0 });
    expect(proxy.asked).toEqual([]);
  });
});
