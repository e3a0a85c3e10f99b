import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { docPages, root } from '../docs/pages.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aTelemetry } from './a-telemetry.ts';

const textOf = (file: string) => readFileSync(join(root, 'docs/observability', file), 'utf8');

const dashboard = JSON.parse(textOf('grafana-dashboard.json')) as {
  panels: { id: number; title: string; targets: { expr: string }[] }[];
};
const rules = parse(textOf('prometheus-rules.yml')) as {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
];

/** What a scrape exports: each metric, a histogram by its series, with the labels that it was declared with. */
const exported = new Set<string>();

beforeAll(async () => {
  await using warehouse = await aWarehouse();
  await using telemetry = await aTelemetry(warehouse.db, []);
  const text = await (await fetch(`${telemetry.url}/metrics`)).text();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const series = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of series) exported.add(`${name}${suffix}`);
  }
});

describe('what is asked of Prometheus', () => {
  it('has a summary in each alert', () => {
    for (const { annotations } of alerts) expect(annotations.summary).toMatch(/\.$/);
  });

  it.each(queries)('is exported: %s', (_, expr) => {
    const metrics = expr.match(/\b(gmsi|process|nodejs)_\w+/g) ?? [];
    expect(metrics.length + (expr.includes('up{job="gmsi"}') ? 1 : 0)).toBeGreaterThan(0);
    expect(metrics.filter((metric) => !exported.has(metric))).toEqual([]);
  });

  it('makes use of every metric of ours', () => {
    const asked = queries.map(([, expr]) => expr).join(' ');
    const ours = [...exported].filter((name) => /^gmsi_/.test(name) && !/_(sum|count)$/.test(name));
    expect(ours.filter((name) => !asked.includes(name))).toEqual([]);
  });
});

it('the page describes every metric of ours', () => {
  const page = docPages().find(({ path }) => path === 'docs/observability/README.md')!.text;
  const described = new Set([...page.matchAll(/^\| `(gmsi_\w+)` \|/gm)].map(([, name]) => name));
  const ours = [...exported].filter((name) => name.startsWith('gmsi_'));
  expect(described).toEqual(new Set(ours.map((name) => name.replace(/_(bucket|sum|count)$/, ''))));
});
