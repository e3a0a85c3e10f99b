import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/environment.ts';
import { aFolder } from '../cli/gmsi.ts';
import { cases } from '../support/cases.ts';

const nowhere = '/nonexistent';

function proxyFor(env: Record<string, string>, address: string) {
  return readConfig(env, nowhere).proxyFor?.(address);
}

/** Who | the variables | an address | the proxy on the way. */
const ways = cases`
  https by its own | HTTPS_PROXY=http://p:1 HTTP_PROXY=http://q:2 | https://a.test | http://p:1 HTTPS_PROXY
  http by its own | HTTPS_PROXY=http://p:1 HTTP_PROXY=http://q:2 | http://a.test | http://q:2 HTTP_PROXY
  https not by that for http | HTTP_PROXY=http://q:2 | https://a.test | none
  both by one for all | ALL_PROXY=http://p:1 | https://a.test | http://p:1 ALL_PROXY
  not by one for all if there is another | ALL_PROXY=http://p:1 HTTP_PROXY=http://q:2 | http://a.test | http://q:2 HTTP_PROXY
  lower case | https_proxy=http://p:1 | https://a.test | http://p:1 HTTPS_PROXY
  lower case for http | http_proxy=http://p:1 | http://a.test | http://p:1 HTTP_PROXY
  lower case before capitals | HTTPS_PROXY=http://q:2 https_proxy=http://p:1 | https://a.test | http://p:1 HTTPS_PROXY
  empty lower case | HTTPS_PROXY=http://q:2 https_proxy= | https://a.test | http://q:2 HTTPS_PROXY
  without a scheme | HTTPS_PROXY=p.test:3128 | https://a.test | http://p.test:3128 HTTPS_PROXY
  with a certificate | HTTPS_PROXY=https://p.test:3129/ | https://a.test | https://p.test:3129 HTTPS_PROXY
  loopback, too | HTTP_PROXY=http://p:1 | http://127.0.0.1:8425 | http://p:1 HTTP_PROXY
  SOCKS where it is not used | ALL_PROXY=socks5://s:1 HTTP_PROXY=p:1 HTTPS_PROXY=p:1 | http://a.test | http://p:1 HTTP_PROXY
  SOCKS where none is used | ALL_PROXY=socks5://s:1 NO_PROXY=* | http://a.test | none
`;

it.each(ways)('%s', (_, variables, address, proxy) => {
  const env = Object.fromEntries(variables!.split(' ').map((one) => one.split('=') as [string, string]));
  const found = proxyFor(env, address!);
  expect(found ? `${found.origin} ${found.setting}` : 'none').toBe(proxy);
});

describe('NO_PROXY', () => {
  it.each(['https://a.test', '10.0.0.0/33', '10.0.0/8', 'a.test/x', '::1/129'])(
    'is refused with %s, which would except nothing',
    (entry) => {
      const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: `b.test,${entry}` };
      expect(() => readConfig(env, nowhere)).toThrow('NO_PROXY has an entry that is not a host');
      expect(readConfig({ NO_PROXY: entry }, nowhere).proxyFor, 'without a proxy').toBeUndefined();
    },
  );

  /** An entry | what it names | what it does not. */
  const entries = cases`
    a.test | https://a.test, https://x.a.test:8443, https://A.TEST. | https://ba.test, https://a.test.b
    .a.test | https://a.test, https://x.a.test | https://ba.test
    *.a.test | https://a.test, https://x.a.test | https://ba.test
    A.Test. | https://a.test | https://b.test
    a.test:8443 | https://a.test:8443, https://x.a.test:8443 | https://a.test
    a.test:443 | https://a.test | http://a.test
    b.test, a.test | https://a.test, https://b.test | https://c.test
    127.0.0.1 | https://127.0.0.1:1 | https://localhost, https://127.0.0.2
    10.1.0.0/16 | https://10.1.2.3 | https://10.2.0.1, https://a.test
    ::1 | https://[::1]:1 | https://[::2]
    [fd00::]/8 | | https://10.0.0.1
    fd00::/8 | https://[fd12::1] | https://[fe80::1], https://10.0.0.1
    [::1]:8443 | https://[::1]:8443 | https://[::1]
    * | https://a.test, https://127.0.0.1
    . | | https://a.test
  `;

  it.each(entries)('%s', (entry, named = '', others = '') => {
    const env = { ALL_PROXY: 'http://p:1', NO_PROXY: entry! };
    const split = (list: string) => list.split(', ').filter(Boolean);
    expect(split(named).filter((address) => proxyFor(env, address))).toEqual([]);
    expect(split(others).filter((address) => !proxyFor(env, address))).toEqual([]);
  });
});

it('sends the credentials of the address, decoded, and shows them nowhere', () => {
  const config = readConfig({ HTTPS_PROXY: 'http://d%40n:p%40%3Ass@p.test:3128' }, nowhere);
  const { origin, authorization } = config.proxyFor!('https://a.test')!;
  expect(origin).toBe('http://p.test:3128');
  const basic = Buffer.from(authorization!.reveal().replace('Basic ', ''), 'base64').toString();
  expect(basic).toBe('d@n:p@:ss');
  expect(JSON.stringify([config, config.proxyFor!('https://a.test')])).not.toMatch(/p%40|ZEBu/);
  const user = readConfig({ HTTPS_PROXY: 'http://dan@p.test' }, nowhere).proxyFor!('https://a.test');
  expect(user!.authorization!.reveal()).toBe(`Basic ${Buffer.from('dan:').toString('base64')}`);
});

it.each([
  'socks5://me:pa55word@p:1080',
  'http://me:pa55word/x@p:3128',
  'http://me:1/pa55word@p:3128',
  'http://me:1?pa55word@p:3128',
  'http://me:1#pa55word@p:3128',
  'http://me:pa55word%zz@p:3128',
  'http://',
  'ftp://me:pa55word@p:1',
])('is refused if it is no address of a proxy, without showing it: %s', (address) => {
  const read = () => readConfig({ https_proxy: address }, nowhere);
  expect(read).toThrow(/^HTTPS_PROXY is not the address of an HTTP proxy\.$/);
  expect(read).toThrow(expect.objectContaining({ kind: 'fatal', hint: expect.not.stringContaining('pa55') }));
});

it('is read from .env, which the environment overrides in whatever case', async () => {
  await using folder = await aFolder();
  await writeFile(join(folder.path, '.env'), 'https_proxy=http://p:1\nNO_PROXY=a.test\n');
  const read = (env: Record<string, string>) => readConfig(env, folder.path);
  expect(read({}).proxyFor!('https://b.test')).toMatchObject({ origin: 'http://p:1' });
  expect(read({}).proxyFor!('https://a.test')).toBeUndefined();
  expect(read({}).given).toEqual(['HTTPS_PROXY', 'NO_PROXY']);
  expect(read({ HTTPS_PROXY: 'http://q:2' }).proxyFor!('https://b.test')).toMatchObject({
    origin: 'http://q:2',
  });
});

it.each(['https_proxy', 'HTTPS_PROXY'])('is none if %s is empty in the environment', async (name) => {
  await using folder = await aFolder();
  for (const written of ['https_proxy', 'HTTPS_PROXY']) {
    await writeFile(join(folder.path, '.env'), `${written}=http://p:1\n`);
    expect(readConfig({ [name]: '' }, folder.path).proxyFor, `${written} in .env`).toBeUndefined();
  }
});

it('is none without the variables', () => {
  expect(readConfig({ NO_PROXY: 'a.test' }, nowhere).proxyFor).toBeUndefined();
});
