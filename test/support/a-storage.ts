import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { AwsClient } from 'aws4fetch';
import { readConfig } from '../../src/config/environment.ts';
import type { StorageSettings } from '../../src/export/target-s3.ts';
import { aFolder } from '../cli/gmsi.ts';
import { relay } from './other-servers.ts';

interface Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
  readonly httpServer: { closeAllConnections(): void };
}

// Has no types.
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (options: object) => Server;

export const bucket = 'exports';

/** A storage that speaks S3's protocol, with one empty bucket. It checks signatures; its only key is S3RVER. */
export interface Storage extends AsyncDisposable {
  readonly endpoint: string;
  /** What a process needs in its environment, and what it makes of that. */
  readonly env: Readonly<Record<string, string>>;
  readonly settings: StorageSettings;
}

export async function aStorage(): Promise<Storage> {
  const folder = await aFolder();
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    vhostBuckets: false,
    directory: folder.path,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = envFor(endpoint);
  return {
    endpoint,
    env,
    settings: readConfig(env, '/none').storage,
    async [Symbol.asyncDispose]() {
      server.httpServer.closeAllConnections();
      await server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The environment of somebody whose storage is there. */
export function envFor(endpoint: string): Record<string, string> {
  return { AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
}

/** Copies what a bucket holds below a prefix into a folder, as a reader does that fetches every object. */
export async function download({ endpoint }: Storage, prefix: string, folder: string): Promise<string[]> {
  const client = new AwsClient({ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', service: 's3' });
  const address = `${endpoint}/${bucket}`;
  const list = await client.fetch(`${address}?list-type=2&prefix=${prefix}/`);
  const paths = Array.from((await list.text()).matchAll(/<Key>(.*?)<\/Key>/g), ([, key]) =>
    key!.slice(prefix.length + 1),
  );
  for (const path of paths) {
    const object = await client.fetch(`${address}/${prefix}/${path}`);
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), Buffer.from(await object.arrayBuffer()));
  }
  return paths;
}

/** A way to a storage on which requests can be lost. */
export interface Way extends AsyncDisposable {
  readonly endpoint: string;
  /** From now on, requests to write objects whose keys begin like this are cut after their first bytes, or held. */
  breakWrites(key: string, how: 'cut' | 'hold', times?: number): void;
  readonly broken: number;
}

export async function aWayTo(storage: Storage): Promise<Way> {
  let armed: { beginning: string; how: 'cut' | 'hold'; left: number } | undefined;
  let broken = 0;
  const server = await relay(storage.endpoint, (client, upstream) => {
    upstream.pipe(client);
    client.on('data', (chunk) => {
      if (!armed || armed.left === 0 || !chunk.toString('latin1').startsWith(armed.beginning))
        return upstream.write(chunk);
      broken++;
      armed.left--;
      upstream.write(chunk.subarray(0, chunk.length - 1));
      if (armed.how === 'cut') client.destroy();
      return false;
    });
  });
  return {
    endpoint: server.url,
    breakWrites(key, how, times = Number.POSITIVE_INFINITY) {
      const beginning = `PUT /${bucket}/${key.replaceAll('=', '%3D')}`;
      armed = { beginning, how, left: times };
    },
    get broken() {
      return broken;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
