import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import type { FieldPath, FilePosition, Locate } from './job.ts';
import { JobFileError } from './problems.ts';

/**
 * Reads YAML 1.2 by its core schema, whatever the file itself declares: `NO` is text and `2016-01-01` is text, so that
 * Norway stays a country and no time zone shifts a date. Bad syntax and a key given twice are a `JobFileError`.
 * @returns the text as plain values, and where each of them stands
 */
export function parseYaml(path: string, text: string): { value: unknown; locate: Locate } {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    prettyErrors: false,
    lineCounter,
  });
  const at = (offset: number): FilePosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const refuse = (problems: { offset: number; message: string }[]) =>
    new JobFileError(
      path,
      problems.map(({ offset, message }) => {
        return { position: at(offset), field: [], message: `not valid YAML: ${message}` };
      }),
    );

  const { errors, contents } = document;
  if (errors.length > 0) throw refuse(errors.map(({ pos: [offset], message }) => ({ offset, message })));
  try {
    return {
      value: document.toJS(),
      locate: (field, atKey = false) => at(offsetOf(contents, field, atKey)),
    };
  } catch (error) {
    // Aliases are resolved only here, so an alias of nothing, or of far too much, is found only here.
    if (error instanceof ReferenceError) throw refuse([{ offset: 0, message: error.message }]);
    throw error;
  }
}

function offsetOf(root: unknown, path: FieldPath, atKey: boolean): number {
  let node = root;
  let offset = startOf(root) ?? 0;
  for (const [depth, key] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find((item) => String(item.key) === String(key));
      offset = startOf(pair?.key) ?? offset;
      node = pair?.value;
      if (atKey && depth === path.length - 1) return offset;
    } else {
      node = isSeq(node) && typeof key === 'number' ? node.items[key] : undefined;
    }
    offset = startOf(node) ?? offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
