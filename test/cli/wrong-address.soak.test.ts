import { expect, it } from 'vitest';
import { aCertificate, webServer } from '../support/other-servers.ts';
import { accessTo, gmsi } from './gmsi.ts';
import { aPlace } from './place.ts';

it.each([
  [
    'for another host',
    { host: 'DNS:elsewhere.example' },
    /is for another host \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
    /host name in the certificate/,
  ],
  ['that has expired', { days: -1 }, /not valid at this time \(CERT_HAS_EXPIRED\)/, /clock/],
])('a certificate %s is told from one that is not trusted', async (name, about, what, hint) => {
  await using place = await aPlace();
  const { folder, sandbox, warehouse } = place;
  const certificate = await aCertificate(about);
  const authority = await folder.write(`${name}.pem`, certificate.cert);
  await using server = await webServer((_, response) => response.end(), certificate);
  const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: `https://127.0.0.1:${server.port}` };
  const { code, stderr } = await gmsi(['lookups'], {
    cwd: folder.path,
    env: { ...env, NODE_EXTRA_CA_CERTS: authority },
  });
  expect(stderr).toMatch(what);
  expect(stderr).toMatch(hint);
  expect(code).toBe(2);
});
