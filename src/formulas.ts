/**
 * Where a spreadsheet could begin a formula in a text: at its start, and after each character that may end a cell or a row
 * even inside quotes, because which one does depends on the reader's country. It may skip blanks, invisible characters and
 * quotes before the sign, and knows the sign in other widths. As a pattern for JavaScript (with the flag `u`) and for RE2,
 * which has no lookahead.
 */
export const formulaStart = (() => {
  const ends = ';,\\t\\n\\v\\f\\r\\x85\u2028\u2029';
  const skipped = '\\p{Zs}\\p{Cf}\\x00-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f"';
  const signs = '=+@＝＋－＠﹦﹢﹣﹫\\-';
  return `(^|[${ends}])([${skipped}]*[${signs}])`;
})();

/** Puts an apostrophe where a spreadsheet would begin a formula: what follows it is text. */
export function withoutFormulas(text: string): string {
  return text.replace(new RegExp(formulaStart, 'gu'), "$1'$2");
}
