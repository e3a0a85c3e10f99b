import { KeyRefused } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import { oneLine } from '../terminal/text.ts';

/** One line of the doctor's. */
export interface Finding {
  readonly check: string;
  /** `null` if it could not be looked at: that says nothing, neither good nor bad. */
  readonly ok: boolean | null;
  readonly found: string;
  /** What to do. With `ok`, it is a warning: all works as it is. */
  readonly fix?: string;
}

/** Something that works, but not well enough. */
export class ToFix extends Error {
  readonly hint: string;

  constructor(found: string, hint: string) {
    super(found);
    this.hint = hint;
  }
}

/** Something that cannot be looked at as things stand; the message says why. */
export class NotChecked extends Error {}

/** Looks at one thing: what is found, or what is thrown, becomes its line. @throws AbortError */
export async function finding(check: string, look: () => Promise<string> | string): Promise<Finding> {
  try {
    return { check, ok: true, found: await look() };
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    const found = error instanceof Error ? error.message : String(error);
    if (error instanceof NotChecked) return { check, ok: null, found: `not checked: ${found}` };
    const fix = error instanceof GmsiError || error instanceof ToFix ? error.hint : undefined;
    const name = error instanceof KeyRefused ? 'key' : check;
    return { check: name, ok: false, found, ...(fix && { fix }) };
  }
}

/** A line each, and below it what to do. */
export function describeFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const sign = ({ ok, fix }: Finding) => (ok === null ? '–' : !ok ? '✗' : fix ? '!' : '✓');
  return findings
    .map((one) => {
      const { check, found, fix } = one;
      const line = `${sign(one)} ${check.padEnd(width)}  ${oneLine(found)}\n`;
      return fix === undefined ? line : `${line}  ${' '.repeat(width)}  → ${oneLine(fix)}\n`;
    })
    .join('');
}
