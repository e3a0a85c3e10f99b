import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cursorGuard } from '../../src/service/cursor.ts';
import { CursorBroken } from '../../src/service/errors.ts';

test('the token that a drain resumed with counts as met', () => {
  expect(() => cursorGuard('A')('A')).toThrow(CursorBroken);
});

test.each(['a\0b', '\0', 'half \ud83d', '\udc00'])(
  'a token that PostgreSQL cannot store breaks it: %j',
  (token) => {
    expect(() => cursorGuard(null)(token)).toThrow(CursorBroken);
  },
);

test('tokens are accepted exactly as long as none is met twice', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 1 })), (tokens) => {
      const guard = cursorGuard(null);
      const accepted = tokens.findIndex((token) => {
        try {
          guard(token);
          return false;
        } catch {
          return true;
        }
      });
      const firstDouble = tokens.findIndex((token, index) => tokens.indexOf(token) < index);
      expect(accepted).toBe(firstDouble);
    }),
  );
});
