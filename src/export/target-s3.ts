import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import pRetry from 'p-retry';
import type { ProxyFor } from '../config/proxies.ts';
import { ConfigError, GmsiError, kindOf } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { openAgent } from '../service/agent.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  filePath,
  type Manifest,
  manifestName,
  monthOf,
  readManifest,
  withoutFingerprints,
  writeManifest,
} from './manifest.ts';
import { type ExportTarget, type OpenMode, refuseTaken } from './target.ts';

/** The storage's address, if it is not AWS, its region, what signs requests to it, and the proxies on the way. */
export interface StorageSettings {
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly credentials?: StorageCredentials | undefined;
  readonly proxyFor?: ProxyFor | undefined;
}

export interface StorageCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Of temporary credentials. */
  readonly sessionToken: Secret | undefined;
}

/** The storage does not answer, or answers with an error. */
export class StorageUnavailable extends GmsiError {
  override readonly kind = 'retryable';
}

interface Setting {
  readonly out: string;
  readonly mode: OpenMode;
  readonly storage: StorageSettings;
  readonly stop: AbortSignal;
}

/**
 * Begins an export to an S3 storage. A storage replaces one object at a time, so the manifest says `complete: false` before the
 * first object, and `true` only after the last. After an interrupted export, the next one writes the unfinished months again.
 * @throws ConfigError if the bucket or the credentials are wrong, or other files are there; StorageUnavailable
 */
export async function openS3({ out, mode, storage, stop }: Setting): Promise<ExportTarget> {
  const { bucket, prefix } = parseAddress(out);
  const objects = openBucket(bucket, { out, storage, stop });
  const putManifest = (manifest: Manifest) => objects.put(prefix + manifestName, asText(manifest));
  try {
    const there = await objects.list(prefix);
    refuseTaken(out, [...there.keys()], mode);
    const isHeld = mode === 'continue' && there.has(manifestName);
    const held = isHeld ? readManifest(await objects.get(prefix + manifestName), out, there) : undefined;
    const path = await temporaryFolder();
    return {
      place: out,
      path,
      held,
      async publish(manifest) {
        const onDisk = (await readdir(path, { recursive: true })).map((file) => file.replaceAll(sep, '/'));
        const made = manifest.files.filter((file) => onDisk.includes(file.path));
        const replaced = new Set(made.map((file) => monthOf(file.path)));
        await putManifest({ ...withoutFingerprints(held ?? manifest, replaced), complete: false });
        for (const { path: file, bytes, sha256 } of made)
          await objects.put(prefix + file, {
            headers: { 'content-length': String(bytes) },
            sha256,
            open: () => createReadStream(join(path, file)),
          });
        const kept = new Set(manifest.files.map((file) => file.path));
        for (const file of there.keys())
          if (filePath.test(file) && !kept.has(file)) await objects.remove(prefix + file);
        await putManifest(manifest);
      },
      async [Symbol.asyncDispose]() {
        await rm(path, { recursive: true, force: true });
        await objects.close();
      },
    };
  } catch (error) {
    await objects.close();
    throw error;
  }
}

/** The content of an object. Its checksum is signed, so the storage refuses damaged data. */
interface Content {
  readonly headers: Readonly<Record<string, string>>;
  readonly sha256: string;
  /** Begins it anew for each try. */
  readonly open: () => Readable | string;
}

function asText(manifest: Manifest): Content {
  const text = writeManifest(manifest);
  return {
    headers: { 'content-type': 'application/json' },
    sha256: hash('sha256', text),
    open: () => text,
  };
}

/** @throws ConfigError without credentials or a region */
function openBucket(bucket: string, { out, storage, stop }: Omit<Setting, 'mode'>) {
  const { endpoint, credentials, proxyFor } = storage;
  if (!credentials)
    throw new ConfigError(`There are no credentials for the export to ${out}.`, {
      hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. To use a profile, single sign-on or a role: eval "$(aws configure export-credentials --format env)"',
    });
  // Storages other than AWS have no region, but requests are signed with one.
  const region = storage.region ?? (endpoint && 'us-east-1');
  if (region === undefined)
    throw new ConfigError(`There is no region for the export to ${out}.`, {
      hint: `Set AWS_REGION to the region of the bucket ${bucket}, or AWS_ENDPOINT_URL_S3 if the storage is not AWS.`,
    });
  const signing = {
    service: 's3',
    region,
    accessKeyId: credentials.accessKeyId,
    secretAccessKey: credentials.secretAccessKey.reveal(),
    ...(credentials.sessionToken && { sessionToken: credentials.sessionToken.reveal() }),
  };
  const address = addressOf(bucket, region, endpoint);
  const agent = openAgent(proxyFor?.(address), {
    connectTimeout: 10_000,
    // Of silence.
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });

  async function send(method: 'GET' | 'PUT' | 'DELETE', target: string, content?: Content): Promise<string> {
    const headers = { ...content?.headers, 'x-amz-content-sha256': content?.sha256 ?? hash('sha256', '') };
    const signer = new AwsV4Signer({ ...signing, method, url: `${address}${target}`, headers });
    const { url, headers: signed } = await signer.sign();
    const answer = await agent.request({
      method,
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      headers: Object.fromEntries(signed),
      body: content?.open() ?? null,
      signal: stop,
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 200 && answer.statusCode < 300) return text;
    throw refusal(answer.statusCode, elementIn(text, 'Code'), out, endpoint);
  }

  /** Tries up to four times. */
  function request(...[method, target, content]: Parameters<typeof send>): Promise<string> {
    const attempt = () =>
      send(method, target, content).catch((error: Error & { code?: string }) => {
        stop.throwIfAborted();
        throw error instanceof GmsiError
          ? error
          : refusal(undefined, error.code ?? error.name, out, endpoint);
      });
    const shouldRetry = ({ error }: { error: Error }) => kindOf(error) === 'retryable';
    return pRetry(attempt, { retries: 3, minTimeout: 200, randomize: true, signal: stop, shouldRetry });
  }

  const pathOf = (key: string) => `/${key.split('/').map(encodeURIComponent).join('/')}`;
  return {
    /** Returns the sizes of all objects, by what follows the prefix in their keys. */
    async list(prefix: string): Promise<Map<string, number>> {
      const found = new Map<string, number>();
      let token: string | undefined;
      do {
        const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) };
        const page = await request('GET', `?${new URLSearchParams(query)}`);
        for (const [, object = ''] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs))
          found.set(elementIn(object, 'Key')!.slice(prefix.length), Number(elementIn(object, 'Size')));
        token = elementIn(page, 'NextContinuationToken');
      } while (token !== undefined);
      return found;
    },
    get: (key: string) => request('GET', pathOf(key)),
    put: (key: string, content: Content) => request('PUT', pathOf(key), content),
    remove: (key: string) => request('DELETE', pathOf(key)),
    close: () => agent.destroy(),
  };
}

/** Returns the address of a bucket. AWS wants its name in the host, but its certificates fit none with dots. */
function addressOf(bucket: string, region: string, endpoint: string | undefined): string {
  if (endpoint !== undefined) return `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  const aws = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  return bucket.includes('.') ? `https://${aws}/${bucket}` : `https://${bucket}.${aws}`;
}

const signs: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
};

/** Returns the text of an element of XML. */
function elementIn(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replace(/&([#\w]+);/g, (entity, sign: string) => signs[sign] ?? entity);
}

/** @throws ConfigError */
function parseAddress(address: string): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(address) ?? [];
  if (bucket === undefined || /[^\w!.*'()=/-]|\/\//.test(path))
    // Not shown: some write the credentials into it.
    throw new ConfigError('The s3:// address of the export is not that of a place in a bucket.', {
      hint: 'It looks like s3://bucket/folder, in letters, digits and the signs - _ . =; credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    });
  const prefix = path.replace(/\/$/, '');
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}

/** Errors that a retry does not fix, by the names that storages give them. */
const wrongSettings = /^(NoSuchBucket|AuthorizationHeaderMalformed|ExpiredToken|InvalidToken)$/;

/** Has no cause, which would contain the signed request. */
function refusal(
  status: number | undefined,
  code: string | undefined,
  out: string,
  endpoint = 'AWS',
): GmsiError {
  const message = `The storage at ${endpoint} does not accept ${out}: ${code ?? status}.`;
  if ([301, 401, 403].includes(status ?? 0) || wrongSettings.test(code ?? ''))
    return new ConfigError(message, {
      hint: 'Check that the bucket exists and may be listed, read and written, and the settings AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL_S3.',
    });
  return new StorageUnavailable(message, {
    hint: 'If the address (AWS_ENDPOINT_URL_S3) is right, run it again with --changed-since, which writes only what is missing.',
  });
}
