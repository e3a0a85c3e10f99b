import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useWidth } from './parts.tsx';

export interface Place {
  readonly row: number;
  readonly column: number;
}

export interface Cell {
  /** A CSS background. */
  readonly background: string;
  /** Shows a state without relying on colours. */
  readonly mark?: string | undefined;
  readonly isFailed?: boolean;
}

/** Pixels of the widest letters of a title, and of an average one. */
const [wide, letter] = [7.05, 6.2];

const moves: Readonly<Record<string, readonly [down: number, across: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-8, 0],
  PageDown: [8, 0],
  Home: [0, Number.NEGATIVE_INFINITY],
  End: [0, Number.POSITIVE_INFINITY],
};

/** Shows cells in rows and columns. Tab comes to one of them, and arrow keys go from cell to cell. */
export function Grid(props: {
  label: string;
  /** Their titles. */
  rows: readonly string[];
  /** Neighbours of one group share a head; it is empty if there is none. */
  columns: readonly { readonly title: string; readonly group: string }[];
  /** Another function if anything is drawn otherwise. */
  cell: (row: number, column: number) => Cell;
  /** Describes a cell. */
  said: (place: Place) => string;
  /** Pixels of a row, and the most pixels of a column. */
  down: number;
  widest?: number;
  /** The cell that is open. */
  open?: Place | undefined;
  onOpen?: (place: Place) => void;
}) {
  const { label, rows, columns, cell, said, down, widest, open, onOpen } = props;
  const table = useRef<HTMLTableElement>(null);
  const first = Math.max(...rows.map(({ length }) => length)) * letter + 10;
  const across = (useWidth(table) - first) / columns.length;
  const isUpright = across < Math.max(...columns.flatMap(({ title }) => title.split(/[ -]/)).map(widthOf));
  const groups = columns.flatMap(({ group }, index) =>
    group === columns[index - 1]?.group
      ? []
      : [{ group, index, span: columns.slice(index).findIndex((one) => one.group !== group) }],
  );
  // Made once: there may be thousands.
  const cells = useMemo(
    () =>
      rows.map((title, row) => (
        <tr key={row}>
          <th scope="row" title={title}>
            {title}
          </th>
          {columns.map((_, column) => {
            const { background, mark, isFailed } = cell(row, column);
            return (
              <td
                key={column}
                tabIndex={row + column === 0 ? 0 : -1}
                class={isFailed ? 'failed' : ''}
                style={{ background }}
                aria-label={said({ row, column })}
              >
                {mark}
              </td>
            );
          })}
        </tr>
      )),
    [cell, rows.join('\n')],
  );
  const cellAt = ({ row, column }: Place) => table.current!.tBodies[0]!.rows[row]!.cells[column + 1]!;
  useLayoutEffect(() => {
    // The cell that Tab came to may be gone.
    if (!table.current!.querySelector('[tabindex="0"]'))
      table.current!.querySelector('tbody td')?.setAttribute('tabindex', '0');
    const at = open && cellAt(open);
    at?.setAttribute('aria-current', 'true');
    return () => at?.removeAttribute('aria-current');
  }, [cells, open?.row, open?.column]);
  const placeOf = (target: EventTarget | null) => {
    const at = target instanceof Element && target.closest<HTMLTableCellElement>('tbody td');
    return at && { row: (at.parentElement as HTMLTableRowElement).sectionRowIndex, column: at.cellIndex - 1 };
  };
  const onKey = (event: KeyboardEvent) => {
    const place = placeOf(event.target);
    const move = moves[event.key];
    if (!place || !(move || event.key === 'Enter' || event.key === ' ')) return;
    event.preventDefault();
    if (!move) return onOpen?.(place);
    const to = (at: number, by: number, { length }: readonly unknown[]) =>
      Math.max(0, Math.min(length - 1, at + by));
    cellAt({ row: to(place.row, move[0], rows), column: to(place.column, move[1], columns) }).focus();
  };
  const size = { '--down': `${down}px`, maxWidth: widest && `${first + widest * columns.length}px` };
  return (
    <table
      ref={table}
      class={onOpen ? 'grid opens' : 'grid'}
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table with a cursor is a grid
      role="grid"
      aria-label={label}
      style={size}
      onKeyDown={onKey}
      onPointerOver={({ target }) => lean(target)}
      onFocusIn={({ currentTarget, target }) => {
        lean(target);
        // Tab comes back to the same cell.
        for (const one of currentTarget.querySelectorAll<HTMLElement>('[tabindex="0"]')) one.tabIndex = -1;
        (target as HTMLElement).tabIndex = 0;
      }}
      onClick={({ target }) => {
        const place = placeOf(target);
        if (place) onOpen?.(place);
      }}
    >
      <colgroup>
        <col style={{ width: `min(${first}px, 40vw)` }} />
      </colgroup>
      <thead>
        {groups.some(({ group }) => group) && (
          <tr>
            <td />
            {groups.map(({ group, index, span }) => (
              <th
                key={index}
                scope="colgroup"
                colSpan={span === -1 ? columns.length - index : span}
                title={group}
              >
                {group}
              </th>
            ))}
          </tr>
        )}
        {columns.some(({ title }) => title) && (
          <tr>
            <td />
            {columns.map(({ title }, column) => (
              <th key={column} scope="col">
                <span class={across < 9 ? 'hidden' : isUpright ? 'upright' : undefined}>{title}</span>
              </th>
            ))}
          </tr>
        )}
      </thead>
      <tbody>{cells}</tbody>
    </table>
  );
}

/** Puts the words of a cell on the side with room. */
function lean(target: EventTarget | null): void {
  const cell = target as Element;
  const { left, top } = cell.getBoundingClientRect();
  cell.classList.toggle('late', left > innerWidth / 2);
  cell.classList.toggle('low', top > innerHeight / 2);
}

function widthOf({ length }: string): number {
  return length * wide + 1;
}
