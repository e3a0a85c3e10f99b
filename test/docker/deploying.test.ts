import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readJob } from '../../src/config/read-job.ts';
import { exitCodes } from '../../src/exit.ts';
import { version } from '../../src/package.ts';
import { parseTyped } from '../support/typed-commands.ts';

/** A variable of a container, or a key of a Secret. */
interface Named {
  readonly name: string;
  readonly key: string;
  readonly valueFrom?: { readonly secretKeyRef: Named };
}

const root = new URL('../..', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const kubernetes = (name: string) => parse(read(`docs/deploying/kubernetes/${name}.yaml`));

const secret = kubernetes('secret');
const workers = kubernetes('workers');
const cronJob = kubernetes('sync');
const pods = [workers.spec.template, cronJob.spec.jobTemplate.spec.template];
const compose = parse(read('docker-compose.yml'), { merge: true }).services;
const dockerfile = read('Dockerfile');

const unitsFolder = new URL('docs/deploying/systemd/', root);
const units = readdirSync(unitsFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(service|timer|conf)$/.test(name))
  .map((name) => ({ name, text: read(`docs/deploying/systemd/${name}`) }));
const common = units.find(({ name }) => name.endsWith('common.conf'))!.text;

/** Returns every command line that a supervisor runs, without `gmsi`; test/cli/printed-commands.test.ts reads those of pages. */
function commandLines(): string[] {
  const inContainers: string[][] = [
    ...pods.map(({ spec }) => spec.containers[0].args),
    ...Object.values<Record<string, string & string[]>>(compose).flatMap(({ command, image }) =>
      command && image?.includes('gmsi-etl') ? [command] : [],
    ),
    JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)![1]!),
  ];
  const inUnits = units.flatMap(({ text }) => text.match(/(?<=dist\/cli\.js )[a-z][^\n>|]*/g) ?? []);
  return [...inContainers.map((words) => words.join(' ')), ...inUnits];
}

test('every command that is deployed is one that the program takes', async () => {
  const typed = await Promise.all(commandLines().map((line) => parseTyped(`gmsi ${line}`)));
  const names = typed.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['work', 'sync', 'backfill', 'sandbox']));
});

test('every secret that a pod takes is in the Secret', () => {
  const taken = pods.flatMap(({ spec }) => {
    const { secretName, items } = spec.volumes[1].secret;
    return [
      ...spec.containers[0].env.flatMap(({ valueFrom }: Named) =>
        valueFrom ? [valueFrom.secretKeyRef] : [],
      ),
      ...items.map(({ key }: Named) => ({ name: secretName, key })),
    ];
  });
  expect(taken).not.toHaveLength(0);
  for (const { name, key } of taken) {
    expect(name).toBe(secret.metadata.name);
    expect(secret.stringData).toHaveProperty(key);
  }
});

test('pods run this version as the user of the image, who is not root', () => {
  const user = Number(/^USER (\d+):\d+$/m.exec(dockerfile)![1]);
  expect(user).toBeGreaterThan(0);
  expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
  for (const { spec } of pods) {
    expect(spec.containers[0].image).toBe(`gmsi-etl:${version}`);
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, fsGroup: user });
  }
});

test('workers are selected by their labels, and probed and scraped where they serve', () => {
  const { metadata, spec } = workers.spec.template;
  expect(metadata!.labels).toMatchObject(workers.spec.selector.matchLabels);
  const { ports, env, startupProbe, livenessProbe, readinessProbe } = spec.containers[0];
  const [port] = ports!;
  expect(env).toContainEqual({ name: 'GMSI_METRICS_PORT', value: String(port!.containerPort) });
  expect(metadata!.annotations['prometheus.io/port']).toBe(String(port!.containerPort));
  const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe!.httpGet);
  expect(probes.map(({ path }) => path)).toEqual(['/healthz', '/healthz', '/readyz']);
  const served = read('src/observe/server.ts');
  for (const probe of probes) {
    expect(probe.port).toBe(port!.name);
    expect(served).toContain(`'${probe.path}'`);
  }
});

test('a worker can write its exports wherever it is deployed', () => {
  expect(compose.worker.read_only).toBe(true);
  expect(compose.worker.volumes).toEqual(expect.arrayContaining(['exports:/exports', '/tmp']));
  const user = /^USER (\d+):\d+$/m.exec(dockerfile)![1];
  expect(dockerfile).toContain(`RUN install -d -o ${user} -g ${user} -m 700 /exports\n`);
  const { volumes, containers } = workers.spec.template.spec;
  expect(containers[0].securityContext.readOnlyRootFilesystem).toBe(true);
  expect(containers[0].volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
  expect(volumes).toContainEqual({ name: 'tmp', emptyDir: {} });
  // Such a user has a /tmp of its own.
  expect(common).toMatch(/^DynamicUser=yes$/m);
  const worker = units.find(({ name }) => name === 'gmsi-work.service')!.text;
  expect(worker).toMatch(/^StateDirectory=gmsi-exports$/m);
});

test('nothing is started again that would end the same', () => {
  const { doNotRetry, budget, interrupted } = exitCodes;
  const [rule] = cronJob.spec.jobTemplate.spec.podFailurePolicy.rules;
  expect(rule).toMatchObject({ action: 'FailJob', onExitCodes: { values: [doNotRetry, budget] } });
  expect(common).toContain(`SuccessExitStatus=${interrupted}\n`);
  // But workers, which no timer starts: a database that is away at the start ends with doNotRetry as well.
  const prevented = units.filter(({ text }) =>
    text.includes(`RestartPreventExitStatus=${doNotRetry} ${budget}\n`),
  );
  expect(prevented.map(({ name }) => name).sort()).toEqual(['gmsi-backfill@.service', 'gmsi-sync@.service']);
});

test('whoever stops a worker gives it longer than it waits for requests under way', () => {
  const grace = Number(/const grace = (\d+)_000/.exec(read('src/load/run-load.ts'))![1]);
  const given = [
    ...pods.map(({ spec }) => spec.terminationGracePeriodSeconds),
    Number(/^TimeoutStopSec=(\d+)$/m.exec(common)![1]),
    Number(
      /stop_grace_period: (\d+)s/.exec(/x-worker:[\s\S]*?\n\n/.exec(read('docker-compose.yml'))![0])![1],
    ),
  ];
  expect(given).toHaveLength(4);
  for (const seconds of given) expect(seconds).toBeGreaterThanOrEqual(2 * grace);
});

test('the job of the demo can be read, and has a schedule', async () => {
  const today = Temporal.PlainDate.from('2026-11-20');
  const cwd = new URL('.', root).pathname;
  const job = await readJob('docs/deploying/demo/food-inflation.yaml', today, cwd);
  expect(job.schedule).toMatchObject({ backfill: expect.anything(), sync: expect.anything() });
});

test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'systemd finds nothing to say against the units, nor against their sandboxing (needs systemd-analyze)',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'gmsi-units-'));
    try {
      cpSync(unitsFolder, folder, { recursive: true });
      const names = units
        .map(({ name }) => name)
        .filter((name) => !name.endsWith('.conf'))
        .map((name) => name.replace('@', '@g7-inflation'));
      expect(names).toHaveLength(5);
      // The colon at the end adds systemd's own units.
      const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
      const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...names], {
        env,
        encoding: 'utf8',
      });
      expect(verified).toMatchObject({ status: 0, stderr: '' });
      for (const service of names.filter((name) => name.endsWith('.service'))) {
        // Exposure 2.0 of 10, given in tenths; fails above.
        execFileSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', service], { env });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
