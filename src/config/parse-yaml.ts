import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml';
import type { FieldPath, FilePosition, Locate } from './job.ts';
import { JobFileError } from './problems.ts';

/**
 * Reads YAML 1.2 by its core schema, even if the file declares another version: `NO` and `2016-01-01` are text, so that Norway
 * stays a country and no time zone shifts a date.
 * @returns the plain values, and a function that finds the place of each
 * @throws JobFileError for bad syntax or a repeated key
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
        return { position: at(offset), field: [], message: `not valid YAML: ${inPlainWords(message)}` };
      }),
    );

  const { errors, contents } = document;
  if (errors.length > 0) throw refuse(errors.map(({ pos: [offset], message }) => ({ offset, message })));
  try {
    return { value: document.toJS(), locate: (field, atKey = false) => at(offsetOf(contents, field, atKey)) };
  } catch (error) {
    // Aliases are resolved only here, so an undefined or exploding alias fails only here.
    if (!(error instanceof ReferenceError)) throw error;
    // The message ends with the alias, except for an exploding one.
    const alias = error.message.split(': ').at(-1);
    throw refuse([{ offset: Math.max(0, text.indexOf(`*${alias}`)), message: error.message }]);
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

/** Returns the library's message, except where it speaks of itself or in the words of YAML's grammar. */
function inPlainWords(message: string): string {
  if (message.startsWith('Source contains multiple documents'))
    return 'a second document begins at this ---; a job file has one';
  const closing = /^Flow .* must be sufficiently indented and end with a (.)$/.exec(message)?.[1];
  return closing ? `a ${closing} is missing before this, or is not indented` : message;
}
