import { expect, it } from 'vitest';
import { readConfig } from '../../src/config/environment.ts';
import { openS3 } from '../../src/export/target-s3.ts';
import { aProxy, withCredentials } from '../support/a-proxy.ts';
import { cases } from '../support/cases.ts';
import { webServer } from '../support/other-servers.ts';

const credentials = { AWS_ACCESS_KEY_ID: 'me', AWS_SECRET_ACCESS_KEY: 's3cret', AWS_SESSION_TOKEN: 't0ken' };
const stop = new AbortController().signal;

function open(out: string, env: Record<string, string>) {
  const { storage } = readConfig({ ...credentials, ...env }, '/none');
  return openS3({ out, mode: 'new', storage, stop });
}

it('is asked again after a 503, reads every page of a list, and gets the token of temporary credentials', async () => {
  const asked: [page: string | null, token: unknown][] = [];
  const answers = [
    [503, '<Error><Code>SlowDown</Code></Error>'],
    [
      200,
      '<Contents><Key>it&apos;s/x</Key><Size>1</Size></Contents><NextContinuationToken>1+/=</NextContinuationToken>',
    ],
    [200, '<Contents><Key>it&apos;s/_manifest.json</Key><Size>1</Size></Contents>'],
  ] as const;
  await using server = await webServer(({ url, headers }, response) => {
    const [status, list] = answers[asked.length]!;
    const page = new URL(`http://localhost${url}`).searchParams.get('continuation-token');
    asked.push([page, headers['x-amz-security-token']]);
    response.writeHead(status).end(list);
  });
  const opened = open("s3://exports/it's", { AWS_ENDPOINT_URL_S3: server.url });
  await expect(opened).rejects.toMatchObject({ hint: expect.stringContaining('to replace that export') });
  expect(asked).toEqual([null, null, '1+/='].map((page) => [page, 't0ken']));
});

/** A bucket | its region | the host that is asked for it. */
const hosts = cases`
  exports | eu-west-1 | exports.s3.eu-west-1.amazonaws.com
  exports.of.ours | eu-west-1 | s3.eu-west-1.amazonaws.com
  exports | cn-north-1 | exports.s3.cn-north-1.amazonaws.com.cn
`;

it.each(hosts)('finds the bucket %s of AWS in %s', async (bucket, region, host) => {
  await using proxy = await aProxy({ credentials: 'dan:pa55word' });
  const env = { AWS_REGION: region!, HTTPS_PROXY: withCredentials(proxy, 'dan:wr0ng') };
  await expect(open(`s3://${bucket}/x`, env)).rejects.toThrow('refuses the user and password');
  expect(proxy.asked).toEqual([`${host}:443`]);
});
