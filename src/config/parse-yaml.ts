import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import type { FieldPath, FilePosition } from './job.ts';
import { JobFileError } from './problems.ts';

/** A YAML text as plain values, and where each of them stands. */
export interface ParsedYaml {
  readonly value: unknown;
  /** The place of the value at `field` (with `atKey`: of its key), or of the innermost value around it that exists. */
  readonly locate: (field: FieldPath, atKey?: boolean) => FilePosition;
}

/**
 * Reads YAML 1.2 by its core schema, whatever the file itself declares: `NO` is text and `2016-01-01` is text, so that
 * Norway stays a country and no time zone shifts a date. Bad syntax and a key given twice are a `JobFileError`.
 */
export function parseYaml(path: string, text: string): ParsedYaml {
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
  const refuse = (offset: number, message: string) => ({ position: at(offset), field: [], message });

  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => refuse(pos[0], `not valid YAML: ${message}`));
    throw new JobFileError(path, problems);
  }
  return {
    value: toValue(
      () => document.toJS(),
      (message) => new JobFileError(path, [refuse(0, `not valid YAML: ${message}`)]),
    ),
    locate: (field, atKey = false) => at(offsetOf(document.contents, field, atKey)),
  };
}

/** Aliases are resolved only here, so an alias of nothing, or of far too much, is found only here. */
function toValue(read: () => unknown, refusal: (message: string) => JobFileError): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReferenceError) throw refusal(error.message);
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
