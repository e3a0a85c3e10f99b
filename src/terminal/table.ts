import Table from 'cli-table3';

type Cell = string | number | null;

const none = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** As `wholeTable`, without the columns that hold nothing. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isFilled = (_: unknown, column: number) =>
    rows.some((row) => row[column] !== null && row[column] !== '');
  return wholeTable(
    head.filter(isFilled),
    rows.map((row) => row.filter(isFilled)),
  );
}

/** Rows in aligned columns without frames; a column that holds only numbers (and blanks) is aligned to the right. */
export function wholeTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumeric = (column: number) =>
    rows.length > 0 &&
    rows.every(
      (row) =>
        typeof row[column] === 'number' ||
        row[column] === null ||
        /^[-+]?[\d,.]+%?$|^$/.test(String(row[column])),
    );
  const view = new Table({
    ...(head.length > 0 ? { head: [...head] } : {}),
    chars: none,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
    colAligns: (head.length > 0 ? head : (rows[0] ?? [])).map((_, column) =>
      isNumeric(column) ? 'right' : 'left',
    ),
  });
  view.push(
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? number(cell) : (cell ?? '')))),
  );
  return view
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Names and values, one pair a line; pairs without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: Cell | undefined])[]): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown
    .map(([name, value]) => `${name.padEnd(width)}  ${typeof value === 'number' ? number(value) : value}`)
    .join('\n');
}

/** `1,234,567`, or up to three decimals. */
export function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

/** `1 window`, `2 windows`, `1,000 windows`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${number(many)} ${many === 1 ? one : more}`;
}

/** `47 s`, `3 min 20 s`, `2 h 5 min`, `3 days 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} days ${Math.floor((whole % 86_400) / 3600)} h`;
}
