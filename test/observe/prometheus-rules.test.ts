import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../docs/pages.ts';

const rules = join(root, 'docs/observability/prometheus-rules.yml');
const worlds = join(root, 'test/telemetry/prometheus-rules.yml');

function promtool(...args: string[]): string {
  return execFileSync('promtool', args, { encoding: 'utf8', stdio: 'pipe' });
}

/** Debian has it in the package `prometheus`. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe.skipIf(!hasPromtool)('the rules for Prometheus, read by promtool (Debian: prometheus)', () => {
  it('are valid', () => {
    expect(promtool('check', 'rules', rules)).toContain('SUCCESS');
  });

  it('say what they are to say, and when, of made-up metrics', () => {
    expect(promtool('test', 'rules', worlds)).toContain('SUCCESS');
  });
});

it('each rule is made to say something by the made-up metrics, and to say nothing', () => {
  const { groups } = parse(readFileSync(rules, 'utf8')) as { groups: { rules: { alert: string }[] }[] };
  const { tests } = parse(readFileSync(worlds, 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[];
  };
  const expected = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const toldOf = (isSilent: boolean) =>
    new Set(
      expected
        .filter(({ exp_alerts }) => (exp_alerts.length === 0) === isSilent)
        .map(({ alertname }) => alertname),
    );
  const all = new Set(groups.flatMap((group) => group.rules.map(({ alert }) => alert)));
  expect(toldOf(false)).toEqual(all);
  expect(toldOf(true)).toEqual(all);
});
