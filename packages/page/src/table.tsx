import { type ComponentChildren, Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { address, go } from './address.ts';
import { number, score } from './numbers.ts';

export interface Column<Row> {
  readonly title: string;
  /** `number` is aligned to the right and sorted from the largest; `head` names its row; others are classes. */
  readonly kind?: 'number' | 'head' | 'nowrap' | 'time' | 'text' | 'reason';
  readonly hint?: string;
  /** Returns what a cell shows; by default what the rows are sorted by, a text or a count. */
  readonly show?: (row: Row, index: number) => ComponentChildren;
  /** Returns what the rows are sorted by; `null` comes last. Without it, the column cannot be sorted. */
  readonly by?: ((row: Row) => number | string | null) | undefined;
}

/** A column of scores, by which rows can be sorted. */
export function scored<Row>(title: string, by: (row: Row) => number | null, digits?: number): Column<Row> {
  return { title, kind: 'number', by, show: (row) => score(by(row), digits) };
}

/** Shows rows. A click on a title sorts them, and a second click turns them round. */
export function Table<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  /** The parameter of the address that names the sorted column, with `-` before it if turned round. */
  sort?: string;
  first?: number;
  detail?: (row: Row) => ComponentChildren;
  isCurrent?: (row: Row) => boolean;
  kind?: string;
}) {
  const { label, rows, columns, keyOf, sort, first = Number.POSITIVE_INFINITY } = props;
  const { detail, isCurrent, kind } = props;
  const [isAll, setAll] = useState(false);
  const asked = (sort && address.value.get(sort)) || '';
  const sorted = columns.find(({ title, by }) => by && title === asked.replace(/^-/, ''));
  const isDescending = (sorted?.kind === 'number') !== asked.startsWith('-');
  const inOrder = sorted ? inOrderOf(rows, sorted.by!, isDescending) : rows;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without it, arrow keys could not scroll it */}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <table class={kind}>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.title}
                  scope="col"
                  class={column.kind}
                  title={column.hint}
                  aria-sort={column === sorted ? (isDescending ? 'descending' : 'ascending') : undefined}
                >
                  {sort && column.by ? (
                    <button
                      type="button"
                      class="flat"
                      onClick={() =>
                        go({ [sort]: column.title === asked ? `-${asked}` : column.title }, 'replace')
                      }
                    >
                      {column.title}
                      {column === sorted && <span aria-hidden="true"> {isDescending ? '↓' : '↑'}</span>}
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(isAll ? inOrder : inOrder.slice(0, first)).map((row) => {
              const key = keyOf(row);
              const below = detail?.(row);
              return (
                <Fragment key={key}>
                  <tr class={below ? 'with-detail' : undefined} aria-current={isCurrent?.(row) || undefined}>
                    {columns.map(({ title, kind, show, by }) => {
                      const [Cell, scope] = kind === 'head' ? (['th', 'row'] as const) : (['td'] as const);
                      return (
                        <Cell key={title} class={kind} scope={scope} data-title={title}>
                          {show ? show(row, rows.indexOf(row)) : written(by?.(row))}
                        </Cell>
                      );
                    })}
                  </tr>
                  {below && (
                    <tr>
                      <td colSpan={columns.length}>{below}</td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </section>
      {rows.length > first && (
        <button type="button" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show fewer' : `Show all ${number(rows.length)}`}
        </button>
      )}
    </>
  );
}

function written(value: number | string | null | undefined): string {
  return typeof value === 'number' ? number(value) : (value ?? '');
}

function inOrderOf<Row>(
  rows: readonly Row[],
  by: (row: Row) => number | string | null,
  isDescending: boolean,
): Row[] {
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [one, other] = [by(a), by(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    if (typeof one === 'string' && typeof other === 'string') return sign * one.localeCompare(other);
    return sign * (Number(one) - Number(other));
  });
}
