import { describe, expect, it } from 'vitest';
import { overruled, readConfig } from '../../src/config/environment.ts';
import { cases } from '../support/cases.ts';

const nowhere = '/nonexistent';

describe('the environment', () => {
  it('says where metrics are served and alerts are posted', () => {
    const env = {
      GMSI_METRICS_HOST: '0.0.0.0',
      GMSI_METRICS_PORT: '0',
      GMSI_METRICS_NAMES: 'one.test, two.test',
      GMSI_ALERT_WEBHOOK_URL: 'https://hooks.test/T0/t0ken',
    };
    const config = readConfig(env, nowhere);
    expect(config.metrics).toEqual({ host: '0.0.0.0', port: 0, names: ['one.test', 'two.test'] });
    expect(config.alertWebhook!.reveal()).toBe('https://hooks.test/T0/t0ken');
    expect(JSON.stringify(config)).not.toContain('t0ken');
  });

  it('leaves metrics to this machine and the usual port, and nobody to be told', () => {
    expect(readConfig({}, nowhere)).toMatchObject({
      metrics: { host: '127.0.0.1', port: undefined, names: [] },
      alertWebhook: undefined,
    });
  });

  it('is refused if the address of a webhook is none, without showing it', () => {
    const read = () => readConfig({ GMSI_ALERT_WEBHOOK_URL: 'hooks.test/T0/t0ken' }, nowhere);
    expect(read).toThrow('GMSI_ALERT_WEBHOOK_URL is not an address.');
  });

  it.each(['http', '65536', '-1', '1.5'])('is refused where the port of the metrics is %s', (port) => {
    expect(() => readConfig({ GMSI_METRICS_PORT: port }, nowhere)).toThrow('GMSI_METRICS_PORT');
  });
});

it('says which variables win over a .env', () => {
  const dotenv = { GMSI_API_KEY: 'a', GMSI_BASE_URL: 'http://b', DATABASE_URL: undefined };
  expect(overruled(dotenv, { GMSI_API_KEY: 'a', DATABASE_URL: '', HOME: '/' })).toEqual([]);
  expect(overruled(dotenv, { GMSI_BASE_URL: '' })).toEqual(['GMSI_BASE_URL']);
  expect(overruled(dotenv, { GMSI_API_KEY: 'b', DATABASE_URL: 'c' })).toEqual([
    'GMSI_API_KEY',
    'DATABASE_URL',
  ]);
});

describe('the address of the warehouse', () => {
  const addressOf = (env: Record<string, string>) => {
    const { warehouse } = readConfig(env, nowhere);
    return warehouse.kind === 'url' ? warehouse.url.reveal() : warehouse.kind;
  };

  it.each(cases`
    a socket, as libpq and Cloud SQL write it | postgres://u@/db?host=/run/postgresql | postgres://u@%2Frun%2Fpostgresql/db
    a socket without a user | postgres:///db?host=/tmp&port=5433 | postgres://%2Ftmp:5433/db
    parameters that stand for a part of it | postgres://h/?user=u&password=a+b%20c&dbname=db | postgres://u:a%2Bb%20c@h/db
    a percent sign in a parameter | postgres://h/db?user=u&password=100%2541 | postgres://u:100%2541@h/db
    an IPv6 address as a parameter | postgres://u@/db?host=::1 | postgres://u@[::1]/db
    a password with an @ | postgres://u:p@ss@h/db | postgres://u:p%40ss@h/db
    a parameter twice: the last one counts | postgres://h/db?sslmode=disable&sslmode=require | postgres://h/db?sslmode=require
    what needs no obeying | postgres://h/db?connect_timeout=3&client_encoding=UTF8&options=-c%20a%3Db
        | postgres://h/db?options=-c%20a%3Db
  `)('is read as libpq reads it: %s', (_, address, read) => {
    expect(addressOf({ DATABASE_URL: address! })).toBe(read);
  });

  it.each([
    { PGREQUIREAUTH: 'scram-sha-256' },
    { PGCHANNELBINDING: 'require' },
    { PGHOSTADDR: '192.0.2.1' },
    { PGSERVICE: 'prod' },
    { PGTARGETSESSIONATTRS: 'read-write' },
  ])('is refused with %j, which psql would obey, and which is ignored where it has no use', (variable) => {
    const [name] = Object.keys(variable);
    for (const env of [{ DATABASE_URL: 'postgres://h/db' }, { PGHOST: 'h' }])
      expect(() => readConfig({ ...env, ...variable }, nowhere)).toThrow(`${name} is not supported.`);
    if (name !== 'PGSERVICE') expect(addressOf(variable)).toBe('embedded');
  });

  it.each([{ PGCHANNELBINDING: 'prefer' }, { PGGSSENCMODE: 'disable' }, { PGCONNECT_TIMEOUT: '3' }])(
    'is taken with %j, which asks for nothing',
    (variable) => {
      expect(addressOf({ PGHOST: 'h', ...variable })).toBe('pg-environment');
    },
  );

  it('is one host, with every value, also in PG* variables, for a standby and for gmsi migrate --to', () => {
    const standby = { GMSI_READ_DATABASE_URL: 'postgres://h/db?require_auth=scram-sha-256' };
    const unset = { DATABASE_URL: 'postgres://h/db?sslmode=' };
    expect(() => readConfig(unset, nowhere)).toThrow('DATABASE_URL has no value for sslmode.');
    expect(() => readConfig({ PGHOST: 'a,b' }, nowhere)).toThrow('PGHOST names several hosts');
    expect(() => readConfig(standby, nowhere)).toThrow('require_auth in GMSI_READ_DATABASE_URL is not supp');
    const { readAddress } = readConfig({}, nowhere);
    expect(() => readAddress('--to', 'postgres://a,b:5432/db')).toThrow('--to names several hosts');
  });
});

describe('a variable that is nearly one of ours', () => {
  const warned = (env: Record<string, string>) => readConfig(env, nowhere).warnings;

  it.each([
    ['GMSI_BASEURL', 'GMSI_BASE_URL'],
    ['PGSSLMOD', 'PGSSLMODE'],
    ['PGSSL_MODE', 'PGSSLMODE'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['HTTPS_PROXI', 'HTTPS_PROXY'],
  ])('is named with the one that is meant: %s', (name, meant) => {
    expect(warned({ [name]: 'x' })).toEqual([
      `${name} is set, but there is no such setting: did you mean ${meant}?`,
    ]);
  });

  it('is not named if that one is set, if it is far from all, or if it could be a key', () => {
    expect(warned({ DATABASE_URI: 'x', DATABASE_URL: 'postgres://h/db', PGDATA: '/var', LOGS: 'x' })).toEqual(
      [],
    );
    const key = 'gmsi_live_4f9a0c77d2';
    expect(warned({ [key]: '=' }).join()).toMatch(/^A variable that begins with GMSI is set/);
  });
});
