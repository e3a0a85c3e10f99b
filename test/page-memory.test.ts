import { expect, test } from 'vitest';
import { lendBytes, returnBytes } from '../src/page-memory.ts';

const size = 300_000;

/** Lends so much memory that all that is kept is used. */
const lendAll = () => Array.from({ length: 100 }, () => lendBytes(size).buffer);

test('memory that was given back is lent again, to one page at a time', () => {
  const first = lendBytes(size);
  expect(first).toHaveLength(size);
  expect(lendAll()).not.toContain(first.buffer);
  returnBytes(first);
  expect(lendAll().filter((memory) => memory === first.buffer)).toHaveLength(1);
});

test('memory that is given back twice is lent once, and what was not lent is lent to nobody', () => {
  const lent = lendBytes(size);
  const own = Buffer.alloc(size);
  for (const bytes of [lent, lent, own]) returnBytes(bytes);
  const again = lendAll();
  expect(again.filter((memory) => memory === lent.buffer)).toHaveLength(1);
  expect(again.filter((memory) => memory === own.buffer)).toHaveLength(0);
});

test('small buffers, which share their memory with others, are not kept', () => {
  const small = lendBytes(100);
  returnBytes(small);
  expect(lendBytes(5_000).buffer).not.toBe(small.buffer);
});

test('no more is kept than pages are under way', () => {
  const many = Array.from({ length: 100 }, () => lendBytes(size));
  for (const one of many) returnBytes(one);
  const before = new Set(many.map(({ buffer }) => buffer));
  expect(lendAll().filter((memory) => before.has(memory))).toHaveLength(32);
});
