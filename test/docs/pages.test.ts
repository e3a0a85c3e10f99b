import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { parseJob, readJob } from '../../src/config/read-job.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { type DocPage, docPages, fencesOf, root } from './pages.ts';

const pages = docPages();
const today = Temporal.PlainDate.from('2026-11-20');

/** Anchors as GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function brokenLinks({ path, text }: DocPage): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets
    .filter((target) => !/^https?:/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(root, linked))) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(join(root, linked), 'utf8')).includes(anchor);
    });
}

test.for(pages)('every link of $path leads somewhere', (page) => {
  expect(brokenLinks(page)).toEqual([]);
});

test('the start page of docs/ links to every page', () => {
  const start = pages.find(({ path }) => path === 'docs/README.md')!.text;
  const others = pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  expect(others.filter((path) => !start.includes(`](${path.slice('docs/'.length)}`))).toEqual([]);
});

test('every job file that is printed can be run', () => {
  const jobs = pages
    .flatMap(fencesOf)
    .filter(({ language, marks }) => language === 'yaml' && marks.includes('job'));
  expect(jobs).not.toHaveLength(0);
  for (const { place, text } of jobs) parseJob({ path: place, name: 'printed', text }, today);
});

const jobFiles = (folder: string) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.yaml'));

test('a fresh clone has one job, the demo: nobody asked for the examples', async () => {
  expect(jobFiles('jobs')).toEqual(['demo.yaml']);
});

test('jobs/examples/ has a job for every feed', async () => {
  const jobs = await Promise.all(
    jobFiles('jobs/examples').map((name) => readJob(`jobs/examples/${name}`, today, root)),
  );
  expect(new Set(jobs.map(({ feed }) => feed))).toEqual(new Set(catalog.keys()));
});

test('editors find the schema from an example, there and once it is copied', () => {
  for (const name of jobFiles('jobs/examples'))
    expect(readFileSync(join(root, 'jobs/examples', name), 'utf8')).toMatch(
      /^# yaml-language-server: \$schema=\.\/job\.schema\.json\n/,
    );
  const { $ref } = JSON.parse(readFileSync(join(root, 'jobs/examples/job.schema.json'), 'utf8'));
  expect(join('jobs/examples', $ref)).toBe('jobs/job.schema.json');
});

test('every example that is copied on a page is there, and so is every job named by its path, once they are copied', () => {
  const texts = [...pages.map(({ text }) => text), readFileSync(join(root, 'docker-compose.yml'), 'utf8')];
  const named = (pattern: RegExp) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name));
  const copied = named(/\bcp jobs\/examples\/([\w-]+\.yaml) /g);
  expect(copied).toContain('g7-inflation.yaml');
  expect(jobFiles('jobs/examples')).toEqual(expect.arrayContaining(copied));
  const run = named(/gmsi \w+ jobs\/([\w-]+\.yaml)/g);
  expect(run).not.toHaveLength(0);
  expect([...copied, ...jobFiles('jobs')]).toEqual(expect.arrayContaining(run));
});

test('every npm script and every test that is named on a page is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const text = pages.map((page) => page.text).join('\n');
  const named = [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name!);
  expect(named).toContain('page');
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  const paths = [...text.matchAll(/(?<![\w/])test\/[\w./-]*\w/g)].map(([path]) => path);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
