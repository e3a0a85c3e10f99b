import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join, sep } from 'node:path';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ProxyFor } from '../config/proxies.ts';
import { ConfigError, GmsiError } from '../errors.ts';
import { throughProxies } from '../service/tunnel.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { filePath, type Manifest, manifestName, monthOf, readManifest, writeManifest } from './manifest.ts';
import { type ExportTarget, type OpenMode, refuseTaken, writable } from './target.ts';

/** The storage's address, if it is not AWS, its region, and the proxies on the way. The library finds the credentials itself. */
export interface StorageSettings {
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly proxyFor?: ProxyFor | undefined;
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

/** Longest time to connect, and longest silence, in milliseconds. */
const patience = { connectionTimeout: 10_000, socketTimeout: 60_000 };

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/**
 * Begins an export to an S3 storage. A storage replaces one object at a time, so the manifest says `complete: false` before the first
 * object, and `true` only after the last. After an interrupted export, the next one writes the unfinished months again.
 * @throws ConfigError if the bucket or the credentials are wrong, or other files are there; StorageUnavailable
 */
export async function openS3({ out, mode, storage, stop }: Setting): Promise<ExportTarget> {
  const { bucket, prefix } = parseAddress(out);
  const { endpoint, region, proxyFor } = storage;
  const client = new S3Client({
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    // Storages other than AWS have no region, but requests are signed with one.
    ...(region === undefined ? endpoint !== undefined && { region: 'us-east-1' } : { region }),
    requestHandler: { ...patience, ...(proxyFor && agentsThrough(proxyFor)) },
    // Older storages refuse the library's own checksums; all accept Content-MD5.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
    // The default prints to standard error.
    logger: silent,
  });
  const where = { Bucket: bucket };
  const key = (path: string) => `${prefix}${path}`;
  async function send<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      stop.throwIfAborted();
      throw named(error as StorageError, { out, bucket, endpoint });
    }
  }

  async function list(): Promise<Map<string, number | undefined>> {
    const found = new Map<string, number | undefined>();
    for await (const page of paginateListObjectsV2(
      { client },
      { ...where, Prefix: prefix },
      { abortSignal: stop },
    ))
      for (const { Key, Size } of page.Contents ?? []) found.set(Key!.slice(prefix.length), Size);
    return found;
  }

  async function read(path: string): Promise<string> {
    const { Body } = await client.send(new GetObjectCommand({ ...where, Key: key(path) }), {
      abortSignal: stop,
    });
    return Body!.transformToString();
  }

  /** Sends an object with a checksum by which the storage refuses damaged data. It is small enough for memory, to be sent again. */
  async function put(path: string, Body: Buffer): Promise<void> {
    const ContentMD5 = createHash('md5').update(Body).digest('base64');
    const ContentType = path === manifestName ? 'application/json' : undefined;
    const command = new PutObjectCommand({ ...where, Key: key(path), Body, ContentMD5, ContentType });
    await send(() => client.send(command, { abortSignal: stop }));
  }

  const putManifest = (manifest: Manifest) => put(manifestName, Buffer.from(writeManifest(manifest)));

  try {
    const there = await send(list);
    refuseTaken(out, [...there.keys()], mode);
    const isHeld = mode === 'continue' && there.has(manifestName);
    const held = isHeld ? readManifest(await send(() => read(manifestName)), out, there) : undefined;
    const path = await temporaryFolder();
    return {
      place: out,
      path,
      held,
      async publish(manifest) {
        const made = (await readdir(path, { recursive: true }))
          .map((file) => file.replaceAll(sep, '/'))
          .filter((file) => filePath.test(file));
        await putManifest(whileReplacing(held ?? manifest, made));
        for (const file of made) await put(file, await writable(() => readFile(join(path, file))));
        const kept = new Set(manifest.files.map((file) => file.path));
        for (const file of there.keys())
          if (filePath.test(file) && !kept.has(file)) {
            const command = new DeleteObjectCommand({ ...where, Key: key(file) });
            await send(() => client.send(command, { abortSignal: stop }));
          }
        await putManifest(manifest);
      },
      async [Symbol.asyncDispose]() {
        await rm(path, { recursive: true, force: true });
        client.destroy();
      },
    };
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Returns the manifest for the time in which files are replaced: these months have no fingerprint. */
function whileReplacing(manifest: Manifest, files: readonly string[]): Manifest {
  const replaced = new Set(files.map(monthOf));
  const months = manifest.months.map((of) => (replaced.has(of.month) ? { ...of, fingerprint: '' } : of));
  return { ...manifest, complete: false, months };
}

/** Agents as the library makes them, which connect through proxies. */
function agentsThrough(proxyFor: ProxyFor) {
  const usual = { keepAlive: true, maxSockets: 50 };
  // Before the library gives up, because its error does not name the proxy.
  const timeout = patience.connectionTimeout - 1000;
  return {
    httpAgent: throughProxies(new HttpAgent(usual), 'http:', proxyFor, timeout),
    httpsAgent: throughProxies(new HttpsAgent(usual), 'https:', proxyFor, timeout),
  };
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

type Place = { readonly out: string; readonly bucket: string; readonly endpoint: string | undefined };

interface StorageError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Errors that a retry does not fix, by the names that the library or the storage gives them. */
const wrongSettings = ['NoSuchBucket', 'CredentialsProviderError', 'AuthorizationHeaderMalformed'];

/** Drops the cause, because it contains the request with its signature and any session token. */
function named(error: StorageError, { out, bucket, endpoint }: Place): GmsiError {
  if (error instanceof GmsiError) return error;
  const status = error.$metadata?.httpStatusCode;
  const at = endpoint === undefined ? '' : ` at ${endpoint}`;
  const isWithoutRegion = /^Region is missing/.test(error.message);
  if (isWithoutRegion || wrongSettings.includes(error.name) || [301, 401, 403].includes(status ?? 0)) {
    const why = isWithoutRegion ? 'Region is missing' : error.name;
    return new ConfigError(`The storage${at} does not accept ${out}: ${why}.`, {
      hint: `Check that the bucket ${bucket} exists and may be listed, read and written, and the settings AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL_S3.`,
    });
  }
  const why = status === undefined ? (error.code ?? error.name) : `${status} ${error.name}`;
  return new StorageUnavailable(`The storage${at} does not accept the export to ${out}: ${why}.`, {
    hint: 'If the address (AWS_ENDPOINT_URL_S3) is right, run it again with --changed-since, which writes only what is missing.',
  });
}
