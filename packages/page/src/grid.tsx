import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import {
  boxOf,
  type CellAt,
  type GridColumn,
  layoutOf,
  letter,
  type Place,
  pathsOf,
  placeAt,
} from './grid-layout.ts';
import { Tip, useWidth } from './parts.tsx';

const looks = {
  frame: { stroke: 'var(--failed)' },
  up: { fill: 'var(--ink)' },
  down: { fill: 'var(--ink)' },
  dot: { fill: 'var(--quiet)' },
  hatch: { fill: 'url(#hatch)', opacity: 0.6 },
};

/**
 * Shows cells in rows and columns. Arrow keys go from cell to cell. For keyboards and screen
 * readers only the current row and cell are elements: thousands of elements would make every key slow.
 */
export function Grid(props: {
  label: string;
  /** Their titles. */
  rows: readonly string[];
  columns: readonly GridColumn[];
  cell: CellAt;
  /** Describes a cell by its title and its words. */
  said: (place: Place) => readonly [title: string, words: string];
  /** Returns the height of a row for the width of a column. */
  down: (across: number) => number;
  /** The most pixels of a column. */
  widest?: number;
  /** Where the cursor is at first; the first cell by default. */
  start?: Place;
  /** The cell that is open. The cursor goes there whenever it changes. */
  open?: Place | undefined;
  onOpen?: (place: Place) => void;
}) {
  const { label, rows, columns, cell, said, down, widest = Number.POSITIVE_INFINITY, start, open } = props;
  const { onOpen } = props;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hovered, setHovered] = useState<Place>();
  const [cursor, setCursor] = useState(start);
  const [hasFocus, setFocus] = useState(false);
  const layout = useMemo(() => layoutOf(rows, columns, width, { widest, down }), [rows, columns, width]);
  const cells = useMemo(() => {
    if (width === 0) return null;
    const drawn = pathsOf(layout, cell);
    return (
      <svg width={layout.width} height={layout.height} aria-hidden="true">
        {drawn.some(({ mark }) => mark === 'hatch') && <Hatching />}
        {drawn.map(({ mark, colour, strength, path }) => (
          <path
            key={`${mark} ${colour} ${strength}`}
            class={`mark-${mark}`}
            style={mark === 'fill' ? { fill: colour, opacity: strength } : looks[mark]}
            d={path}
          />
        ))}
      </svg>
    );
  }, [layout, cell]);
  useEffect(() => {
    if (open) setCursor(open);
  }, [open?.row, open?.column]);
  const [bottom, right] = [rows.length - 1, columns.length - 1];
  const inside = (place: Place | undefined) =>
    place && place.row <= bottom && place.column <= right ? place : undefined;
  const at = inside(cursor) ?? inside(start) ?? { row: 0, column: 0 };
  useEffect(() => {
    if (hasFocus || open) mark.current?.scrollIntoView({ block: 'nearest' });
  }, [at.row, at.column, hasFocus]);

  const told = inside(hovered) ?? (hasFocus ? at : undefined);
  const words = told && said(told);
  const onKey = (event: KeyboardEvent) => {
    const all = event.ctrlKey ? rows.length : 0;
    const moves: Readonly<Record<string, readonly [down: number, across: number]>> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-8, 0],
      PageDown: [8, 0],
      Home: [-all, -columns.length],
      End: [all, columns.length],
    };
    const move = moves[event.key];
    if (event.key === 'Enter' || event.key === ' ') onOpen?.(at);
    else if (move) {
      const row = Math.max(0, Math.min(bottom, at.row + move[0]));
      setCursor({ row, column: Math.max(0, Math.min(right, at.column + move[1])) });
    } else return;
    setHovered(undefined);
    event.preventDefault();
  };
  const high = `${layout.down}px`;
  const find = (event: MouseEvent) => placeAt(layout, event.offsetX, event.offsetY);
  return (
    <div class="grid">
      <div class="heads" style={{ height: `${layout.head + (layout.groups.length > 0 ? 22 : 0)}px` }}>
        {layout.groups.map(({ title, left, width }) => (
          <span
            key={`${title} ${left}`}
            class="head"
            aria-hidden="true"
            title={title}
            style={inPixels({ left, width: width - 1 })}
          >
            {(width >= 40 || title.length * letter + 4 <= width) && title}
          </span>
        ))}
        {layout.titles !== 'none' &&
          columns.map(({ title }, column) => (
            <span
              key={title}
              class={`title ${layout.titles}`}
              aria-hidden="true"
              style={{
                left: `${layout.lefts[column]}px`,
                ...(layout.titles === 'upright'
                  ? { lineHeight: `${layout.across}px`, maxHeight: `${layout.head - 4}px` }
                  : { width: `${layout.across - 1}px` }),
              }}
            >
              {title}
            </span>
          ))}
      </div>
      <div
        class="rows"
        style={{ lineHeight: high, fontSize: `${Math.max(9, Math.min(11.5, layout.down))}px` }}
      >
        {rows.map((title, row) => (
          <span key={row} style={{ height: high }} title={title}>
            {title}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot contain a picture of its cells */}
      <div
        ref={box}
        class="cells"
        style={{ height: `${layout.height}px`, cursor: hovered && onOpen && 'pointer' }}
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={rows.length}
        aria-colcount={columns.length}
        aria-activedescendant={id}
        onKeyDown={onKey}
        onFocus={() => setFocus(true)}
        onBlur={() => setFocus(false)}
        onPointerMove={(event) => setHovered(find(event))}
        onPointerLeave={() => setHovered(undefined)}
        onClick={(event) => {
          const place = find(event);
          if (!place) return;
          setCursor(place);
          onOpen?.(place);
        }}
      >
        {cells}
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="row" tabIndex={-1} class="hidden" aria-rowindex={at.row + 1}>
          {/* biome-ignore lint/a11y/useSemanticElements: as above */}
          <div role="gridcell" tabIndex={-1} id={id} aria-colindex={at.column + 1}>
            {rows.length > 0 && said(at).join(': ')}
          </div>
        </div>
        {inside(open) && <div class="frame" style={inPixels(boxOf(layout, open!))} />}
        {told && <div class="frame cursor" style={inPixels(boxOf(layout, told))} />}
        <div ref={mark} class="mark-cursor" style={inPixels(boxOf(layout, at))} />
        {words && (
          <Tip at={boxOf(layout, told!)} within={layout}>
            <strong>{words[0]}</strong>
            <br />
            {words[1]}
          </Tip>
        )}
      </div>
      <p class="hidden" role="status">
        {words?.join(': ')}
      </p>
    </div>
  );
}

function Hatching() {
  return (
    <pattern id="hatch" width={5} height={5} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect fill="var(--quiet)" width="1" height="5" />
    </pattern>
  );
}

function inPixels(box: Readonly<Record<string, number>>) {
  return Object.fromEntries(Object.entries(box).map(([side, pixels]) => [side, `${pixels}px`]));
}
