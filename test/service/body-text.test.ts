import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NotText } from '../../src/service/errors.ts';
import { withoutMark } from '../../src/service/http.ts';

it('is the text of a strict TextDecoder, or none, whatever its bytes are', () => {
  const text = fc.string({ unit: 'binary' }).map((text) => Buffer.from(text));
  const mark = fc.string().map((text) => Buffer.from(`\ufeff${text}`));
  const ascii = fc.string({ unit: 'grapheme-ascii' }).map((text) => Buffer.from(text));
  const bytes = fc.uint8Array().map((bytes) => Buffer.from(bytes));
  const cut = text.map((text) => text.subarray(1, -1));
  const strict = (body: Buffer) => {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(body);
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(fc.oneof(text, mark, ascii, bytes, cut), (body) => {
      const expected = strict(body);
      if (expected === undefined) expect(() => withoutMark(body)).toThrow(NotText);
      else expect(String(withoutMark(body))).toBe(expected);
    }),
  );
});
