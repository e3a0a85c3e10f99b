import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { GenericContainer, Wait } from 'testcontainers';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '#sandbox';
import { accessTo, aFolder, gmsi } from '../cli/gmsi.ts';
import { jobFor, quarter } from '../cli/jobs.ts';

// biome-ignore lint/suspicious/noExplicitAny: what YAML says, of which each test names what it looks at
type Service = Readonly<Record<string, any>>;

it('opens its ports to this machine only, and pins the images that it does not build', async () => {
  const { services, volumes } = await composeFile({});
  const { postgres, sandbox, grafana } = services;
  for (const { ports } of [postgres, sandbox, grafana]) {
    expect(ports.every((port: string) => port.startsWith('127.0.0.1:'))).toBe(true);
  }
  expect(postgres.image).toMatch(/^postgres:18\.\d+@sha256:[0-9a-f]{64}$/);
  expect(services['grafana-login'].image).toBe(postgres.image);
  expect(grafana.image).toMatch(/^grafana\/grafana:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/);
  const base = services.worker.build!.args.BASE!;
  expect(base).toMatch(/^node:\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
  expect(await textOf('Dockerfile')).toContain(`\nARG BASE=${base}\n`);
  expect(postgres.healthcheck!.test[0]).toMatch(/^CMD/);
  // Below a volume that has a name, or an update of the image begins with an empty database.
  const [volume, mount] = postgres.volumes![0]!.split(':');
  expect(volumes).toHaveProperty(volume!);
  expect(postgres.environment!.PGDATA!.startsWith(`${mount}/`)).toBe(true);
});

it('gives Grafana its login, which needs no right to write, and the files that it is provisioned by', async () => {
  const { services, volumes } = await composeFile({
    GRAFANA_READER_PASSWORD: 'read',
    GRAFANA_PASSWORD: 'see',
  });
  const { 'grafana-login': login, grafana } = services;
  // By the socket, at which the superuser needs no password.
  expect(login.environment).toMatchObject({ PGUSER: 'postgres', READER_PASSWORD: 'read' });
  const socket = `postgres-socket:${login.environment!.PGHOST}`;
  const reaching = Object.entries<Service>(services).filter(([, { volumes: own }]) => own?.includes(socket));
  expect(reaching.map(([name]) => name)).toEqual(['postgres', 'grafana-login']);
  expect(grafana.depends_on).toEqual({ 'grafana-login': { condition: 'service_completed_successfully' } });
  expect(grafana.environment).toMatchObject({ READER_PASSWORD: 'read', GF_SECURITY_ADMIN_PASSWORD: 'see' });
  expect(grafana.environment).not.toHaveProperty('PGPASSWORD');
  const mounts = [...login.volumes!, ...grafana.volumes!].map((volume) => volume.split(':'));
  for (const [from = '', , mode] of mounts) {
    if (from in volumes) continue;
    expect(mode).toBe('ro');
    expect(existsSync(new URL(`../../${from}`, import.meta.url))).toBe(true);
  }
  const folders = new Map(mounts.map(([from, to]) => [to, from]));
  const provisioned = '/etc/grafana/provisioning/dashboards';
  const provider = parse(await textOf(`${folders.get(provisioned)}/warehouse.yaml`));
  expect(provider.providers).toMatchObject([{ type: 'file', options: { path: provisioned } }]);
  const home = grafana.environment!.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH!;
  await textOf(home.replace(provisioned, folders.get(provisioned)!));
  expect(mounts.map(([, to]) => to)).toContain(login.command!.at(-1));
  const sources = await textOf(`${folders.get('/etc/grafana/provisioning/datasources')}/warehouse.yaml`);
  for (const [, name] of sources.matchAll(/\$(\w+)/g)) expect(grafana.environment).toHaveProperty(name!);
});

it('keeps the key and the database of the demo apart from those in .env', async () => {
  const { services } = await composeFile({
    GMSI_API_KEY: 'bought',
    GMSI_BASE_URL: 'https://api.example.com',
  });
  const { worker, 'demo-worker': demo, sandbox } = services;
  expect(worker.environment).toMatchObject({ GMSI_API_KEY: 'bought', PGDATABASE: 'gmsi' });
  expect(demo.environment).toMatchObject({ GMSI_API_KEY: 'sandbox-key', PGDATABASE: 'demo' });
  const { hostname, port } = new URL(demo.environment!.GMSI_BASE_URL!);
  expect(services).toHaveProperty(hostname);
  expect(demo.environment).toMatchObject({ GMSI_SEND_KEY_UNENCRYPTED: 'true' });
  expect(sandbox.ports![0]!.endsWith(`:${port}`)).toBe(true);
});

it('gives the program a user that owns its databases and is no superuser', async () => {
  const { services } = await composeFile({});
  const made = await textOf('docs/deploying/users.sql');
  for (const { environment } of [services.worker, services['demo-worker']]) {
    const { PGUSER: user, PGDATABASE: database } = environment!;
    expect(made).toContain(`create role ${user} login password :'password';`);
    expect(made).toContain(`create database ${database} owner ${user};`);
  }
  expect(made).not.toMatch(/^(create|alter) role .*\b(superuser|createrole|createdb)/im);
  expect(services.postgres.environment).not.toHaveProperty('POSTGRES_USER');
  expect(services.postgres.volumes).toContainEqual(
    expect.stringMatching(/^\.\/docs\/deploying\/users\.sql:\/docker-entrypoint-initdb\.d\//),
  );
});

it.skipIf(process.env.TEST_POSTGRES !== 'container')(
  'becomes healthy by its own check and takes a backfill (needs an engine: npm run test:containers)',
  async () => {
    const { image, environment, healthcheck, volumes } = (await composeFile(process.env)).services.postgres;
    const [source, target] = volumes.find((volume: string) => volume.startsWith('./'))!.split(':');
    await using folder = await aFolder();
    await using sandbox = await startSandbox({ limits: null });
    await using container = await new GenericContainer(image)
      .withEnvironment(environment!)
      .withCopyFilesToContainer([{ source: source!, target: target! }])
      .withExposedPorts(5432)
      .withWaitStrategy(Wait.forSuccessfulCommand(healthcheck!.test.slice(1).join(' ')))
      .start();
    // An image that stands in for the official one may not run the files that are there for its first start.
    const isMade = `psql -U postgres -tAc "select 1 from pg_roles where rolname = 'gmsi'" | grep -q 1`;
    const setUp = `export PGPASSWORD="$POSTGRES_PASSWORD"; ${isMade} || psql -U postgres -f ${target}`;
    const made = await container.exec(['sh', '-c', setUp]);
    expect(made, made.output).toMatchObject({ exitCode: 0 });
    const url = `postgres://gmsi:${environment!.POSTGRES_PASSWORD}@${container.getHost()}:${container.getMappedPort(5432)}/gmsi`;
    const job = await folder.write('job.yaml', jobFor({ ...quarter, to: '2024-01-10' }));

    const run = { cwd: folder.path, env: accessTo({ url }, sandbox) };
    expect(await gmsi(['backfill', job], run)).toMatchObject({ code: 0 });
    expect(await gmsi(['doctor'], run)).toMatchObject({ code: 0 });
  },
  120_000,
);

/** docker-compose.yml with its `${NAME:-default}` filled in, as Compose does it. */
async function composeFile(env: Readonly<Record<string, string | undefined>>) {
  const text = await textOf('docker-compose.yml');
  return parse(
    text.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, otherwise: string) => env[name] || otherwise),
    { merge: true },
  );
}

function textOf(path: string): Promise<string> {
  return readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
}
