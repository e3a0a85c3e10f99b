import { describe, expect, it } from 'vitest';
import { overruled, readConfig } from '../../src/config/environment.ts';

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
  expect(overruled(dotenv, { GMSI_API_KEY: 'a', GMSI_BASE_URL: '', HOME: '/' })).toEqual([]);
  expect(overruled(dotenv, { GMSI_API_KEY: 'b', DATABASE_URL: 'c' })).toEqual([
    'GMSI_API_KEY',
    'DATABASE_URL',
  ]);
});
