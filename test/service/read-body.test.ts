import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readBody } from '../../src/service/http.ts';

it('makes the text of a body that a TextDecoder makes, whatever its bytes are', async () => {
  const text = fc.string({ unit: 'binary' }).map((text) => Buffer.from(text));
  const mark = fc.string().map((text) => Buffer.from(`\ufeff${text}`));
  const ascii = fc.string({ unit: 'grapheme-ascii' }).map((text) => Buffer.from(text));
  const bytes = fc.uint8Array().map((bytes) => Buffer.from(bytes));
  const cut = text.map((text) => text.subarray(1, -1));
  await fc.assert(
    fc.asyncProperty(fc.oneof(text, mark, ascii, bytes, cut), async (body) => {
      const read = await readBody(Readable.from(body.length > 0 ? [body] : []), undefined, 1e6);
      expect(String(read)).toBe(new TextDecoder().decode(body));
    }),
  );
});
