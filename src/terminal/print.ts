import type { WriteStream } from 'node:tty';
import { paint, withoutMarks } from './style.ts';
import { printable, printableJson } from './text.ts';
import { wrapped } from './wrap.ts';

/** The part of standard output or standard error that drawing on a terminal needs. */
export interface Output {
  readonly isTTY: boolean;
  readonly columns: number;
  /** False if the user or the terminal wants none (NO_COLOR, TERM=dumb), and outside of a terminal. */
  readonly hasColours: boolean;
  /** Writes the text unchanged; for callers that write terminal codes and make the rest `printable` themselves. */
  write(text: string | Uint8Array): void;
}

export const output: Output = outputOf(() => process.stdout);
export const errorOutput: Output = outputOf(() => process.stderr);

/** Prints the result of a command for a person. */
export function print(text: string): void {
  output.write(shown(text, output));
}

/** Returns a text as it is written to a terminal, wrapped to its width, or elsewhere; safe, and in colours if it has any. */
export function shown(text: string, { hasColours, isTTY, columns }: Omit<Output, 'write'>): string {
  const safe = printable(text);
  return paint(isTTY ? wrapped(safe, columns) : safe, hasColours);
}

/** Prints the result of a command: with `--json` the document, else the text. */
export function printResult(
  { json }: { readonly json: boolean },
  document: unknown,
  text: () => string,
): void {
  if (json) printJson(document);
  else print(text());
}

/** Prints the result of a command as one JSON document. */
export function printJson(document: unknown, indent: 0 | 2 = 2): void {
  output.write(`${printableJson(JSON.stringify(document, null, indent))}\n`);
}

/**
 * Returns a result of the program with the names that it has as JSON: `load_id` for `loadId`, as in the API. Not for data,
 * such as the fields of a record, whose names stay as they are.
 */
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replace(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeCased(inner),
    ]),
  );
}

/** Prints something other than a result, to standard error. */
export function printError(text: string): void {
  errorOutput.write(shown(text, errorOutput));
}

/** Prints data for other programs: unchanged, except that it is made safe for a terminal. */
export function printData(data: Buffer): void {
  output.write(output.isTTY ? withoutMarks(printable(data.toString())) : data);
}

/** Changes what a library prints as results from now on. */
export function changeConsole(change: (text: string) => string): void {
  console.log = (text: string) => output.write(`${change(text)}\n`);
}

let failure: Error | undefined;

/** Returns true if messages go to a terminal. */
export function isAtTerminal(): boolean {
  return errorOutput.isTTY;
}

/** Returns true if results go to a terminal. */
export function areResultsAtTerminal(): boolean {
  return output.isTTY;
}

/** Returns why results could not be printed, such as a full disk. */
export function outputFailure(): Error | undefined {
  return failure;
}

/** Handles errors of standard output: without this, a closed pipe would end the program with a stack trace. */
export function surviveClosedOutput(): void {
  process.stdout.on('error', onOutputError);
  process.stderr.on('error', () => {});
}

function onOutputError(error: NodeJS.ErrnoException): void {
  // If the reader is gone (`| head`), later output is lost, which is not an error.
  if (!['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'].includes(error.code ?? '')) failure ??= error;
}

function outputOf(stream: () => WriteStream): Output {
  return {
    get isTTY() {
      return stream().isTTY === true;
    },
    get columns() {
      return stream().columns || 80;
    },
    get hasColours() {
      return stream().isTTY === true && stream().hasColors();
    },
    write(text) {
      try {
        stream().write(text);
      } catch (error) {
        // Files are written synchronously and throw their errors.
        if (stream() === process.stdout) onOutputError(error as NodeJS.ErrnoException);
      }
    },
  };
}
