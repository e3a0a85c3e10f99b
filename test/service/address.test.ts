import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isReadableOnTheWay, requestTarget, serviceAddress } from '../../src/service/address.ts';

test.each([
  ['https://api.example.com', '/v1'],
  ['https://api.example.com/', '/v1'],
  ['https://api.example.com/v1', '/v1'],
  ['https://api.example.com/v1/', '/v1'],
  ['https://api.example.com/v1/v1', '/v1'],
  ['https://api.example.com/V1/', '/v1'],
  ['https://api.example.com/data/v1', '/data/v1'],
  ['https://api.example.com/data', '/data/v1'],
])('serviceAddress reads %s with or without its version and slash', (baseUrl, prefix) => {
  expect(serviceAddress(baseUrl)).toEqual({ origin: 'https://api.example.com', prefix });
});

describe('isReadableOnTheWay', () => {
  test.each([
    ...'https://api.example.com http://localhost:8425 http://LOCALHOST./v1'.split(' '),
    ...'http://api.localhost http://127.0.0.1 http://127.255.3.4:80 http://127.1'.split(' '),
    ...'http://0x7f000001 http://2130706433 http://[::1]:8425/v1 http://[0:0:0:0:0:0:0:1]'.split(' '),
    ...'http://[::ffff:127.0.0.1]'.split(' '),
  ])('finds %s safe', (url) => {
    expect(isReadableOnTheWay(url)).toBe(false);
  });

  test.each([
    ...'http://api.example.com http://sandbox:8425 http://localhost.example.com'.split(' '),
    ...'http://notlocalhost http://127.0.0.1.example.com http://0.0.0.0 http://10.0.0.1'.split(' '),
    ...'http://128.0.0.1 http://[::] http://[::ffff:10.0.0.1] http://[fe80::1]'.split(' '),
  ])('finds %s readable', (url) => {
    expect(isReadableOnTheWay(url)).toBe(true);
  });
});

describe('requestTarget', () => {
  const address = serviceAddress('https://api.example.com');

  test('puts the path below the version, with or without a leading slash', () => {
    expect(requestTarget(address, { path: '/countries', query: {} })).toBe('/v1/countries');
    expect(requestTarget(address, { path: 'countries', query: {} })).toBe('/v1/countries');
  });

  test('puts a path without a version beside the version', () => {
    const request = { path: '/openapi.json', query: {}, isUnversioned: true };
    expect(requestTarget(address, request)).toBe('/openapi.json');
    const below = serviceAddress('https://api.example.com/data/v1');
    expect(requestTarget(below, request)).toBe('/data/openapi.json');
  });

  test('encodes a space as %20 and never as a plus', () => {
    expect(requestTarget(address, { path: '/x', query: { topic: 'Policy Reform & Legislation' } })).toBe(
      '/v1/x?topic=Policy%20Reform%20%26%20Legislation',
    );
  });

  test('lets every value survive a server that reads a plus as a space', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1, unit: 'binary' }), fc.string({ unit: 'binary' })),
        (query) => {
          const target = requestTarget(address, { path: '/x', query });
          const read = Object.fromEntries(new URL(target, 'https://api.example.com').searchParams);
          expect(read).toEqual({ ...query });
        },
      ),
    );
  });
});
