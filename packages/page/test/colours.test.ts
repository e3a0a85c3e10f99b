import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { threeOf } from '../src/draw/scales.ts';
import { markers, mostTogether } from '../src/draw/sign.tsx';

const style = readFileSync(new URL('../src/style.css', import.meta.url), 'utf8');

/** Returns a colour of the page as linear red, green and blue, from 0 to 1. */
function linear(name: string, look: 0 | 1): number[] {
  const pair = new RegExp(`--${name}: light-dark\\(#(\\w+), #(\\w+)\\)`).exec(style)!.slice(1);
  const hex = pair[look]!.length === 3 ? pair[look]!.replace(/./g, '$&$&') : pair[look]!;
  return hex.match(/../g)!.map((part) => {
    const value = Number.parseInt(part, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

const product = (rows: readonly (readonly number[])[], column: readonly number[]) =>
  rows.map((row) => row.reduce((sum, one, index) => sum + one * column[index]!, 0));

/** Deuteranopia after Machado, Oliveira and Fernandes (2009). */
const deuteranopia = [
  [0.367322, 0.860646, -0.227968],
  [0.280085, 0.672501, 0.047413],
  [-0.01182, 0.04294, 0.968881],
];

function lab(rgb: readonly number[]): number[] {
  const white = [0.9505, 1, 1.089];
  const toXyz = [
    [0.4124, 0.3576, 0.1805],
    [0.2126, 0.7152, 0.0722],
    [0.0193, 0.1192, 0.9505],
  ];
  const [x, y, z] = product(toXyz, rgb).map((one, index) => Math.cbrt(one / white[index]!)) as [
    number,
    number,
    number,
  ];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function luminance(name: string, look: 0 | 1): number {
  return product([[0.2126, 0.7152, 0.0722]], linear(name, look))[0]!;
}

function contrast(one: string, other: string, look: 0 | 1): number {
  const [a, b] = [luminance(one, look), luminance(other, look)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** Returns how far apart two colours are for deuteranopes. */
function distance(one: string, other: string, look: 0 | 1): number {
  const [a, b] = [one, other].map((name) => lab(product(deuteranopia, linear(name, look)))) as [
    number[],
    number[],
  ];
  return Math.hypot(...a.map((part, index) => part - b[index]!));
}

const states = ['covered', 'settling', 'running', 'pending', 'failed', 'never'];
const lines = Array.from({ length: mostTogether }, (_, place) => `series-${place}`);
const pairsOf = (names: readonly string[]) =>
  names.flatMap((one, index) => names.slice(index + 1).map((other) => [one, other] as const));

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('colours of the %s page', (_, look) => {
  it.each(['paper', 'raised'])(
    'show the border of a field, and lines, on %s with a contrast of 3 to 1',
    (on) => {
      for (const name of ['edge', ...lines]) expect(contrast(name, on, look)).toBeGreaterThanOrEqual(3);
    },
  );

  it.each(pairsOf(states))('keep %s and %s apart for deuteranopes', (one, other) => {
    expect(distance(one, other, look)).toBeGreaterThan(12);
  });

  // Lines are thinner than the bars of states, and no line looks like a sign.
  it.each(pairsOf([...lines, 'positive', 'negative']))('keep lines in %s and %s apart, too', (one, other) => {
    expect(distance(one, other, look)).toBeGreaterThan(18);
  });
});

it('a series has a marker beside its colour, and there is no fifth of either', () => {
  expect(style.match(/--series-\d:/g)).toHaveLength(mostTogether);
  expect(new Set(markers).size).toBe(mostTogether);
});

it.each([
  [-0.35, 0.5],
  [-0.05, 0.62],
  [-0.71, 0.04],
  [-1, 1],
  [-0.05, 0.05],
  [-0.02, 0.9],
  [-2, 0.3],
])('an axis from %f to %f has three round numbers in it, one of which is 0', (low, high) => {
  const three = threeOf([low, high]);
  expect(three).toHaveLength(3);
  expect(three).toContain(0);
  expect(three[0]).toBeGreaterThanOrEqual(low);
  expect(three[2]).toBeLessThanOrEqual(high);
  const step = three[1]! - three[0]!;
  expect(three[2]! - three[1]!).toBeCloseTo(step, 9);
  expect(Number(step.toPrecision(1))).toBeCloseTo(step, 9);
});
