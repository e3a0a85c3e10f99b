import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useWidth } from '../../draw/canvas.ts';
import { daysOf, inWords, type Place, type Shown } from '../../draw/cells.ts';
import { isDark } from '../../draw/colours.ts';
import { cellAt, drawMatrix, type Layout, layoutOf } from '../../draw/matrix.ts';
import { number } from '../../numbers.ts';

/**
 * Shows all cells on one canvas. For keyboards and screen readers it is a grid, of which only the current row and cell are
 * elements: thousands of elements would make every key slow.
 */
export function Matrix({
  shown,
  open,
  reveal,
  onOpen,
  onFold,
}: {
  shown: Shown;
  /** The cell of the open series. */
  open: Place | undefined;
  /** Moves the cursor there whenever it changes. */
  reveal: Place | undefined;
  onOpen: (place: Place) => void;
  onFold: (group: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hovered, setHovered] = useState<Place>();
  const [cursor, setCursor] = useState<Place>({ row: 0, column: 0 });
  const [hasFocus, setFocus] = useState(false);
  const layout = useMemo(
    () => (width > 0 ? layoutOf(shown, width, Math.max(400, innerHeight - 210)) : undefined),
    [shown, width],
  );
  useLayoutEffect(() => {
    if (layout && canvas.current) drawMatrix(canvas.current, shown, layout);
  }, [shown, layout, isDark.value]);
  useEffect(() => {
    if (reveal) setCursor(reveal);
  }, [reveal]);
  const { rows, columns } = shown;
  const inside = ({ row, column }: Place) => ({
    row: Math.max(0, Math.min(row, rows.length - 1)),
    column: Math.max(0, Math.min(column, columns.length - 1)),
  });
  const at = inside(cursor);
  useEffect(() => {
    if (hasFocus || reveal) mark.current?.scrollIntoView({ block: 'nearest' });
  }, [at.row, at.column, hasFocus, reveal]);

  const pointed = hovered && inside(hovered);
  const told = pointed ?? (hasFocus ? at : undefined);
  const find = (event: MouseEvent): Place | undefined =>
    layout && cellAt(layout, event.offsetX, event.offsetY);
  const onKey = (event: KeyboardEvent) => {
    const page = 10;
    const moves: Record<string, Place> = {
      ArrowUp: { row: at.row - 1, column: at.column },
      ArrowDown: { row: at.row + 1, column: at.column },
      ArrowLeft: { row: at.row, column: at.column - 1 },
      ArrowRight: { row: at.row, column: at.column + 1 },
      PageUp: { row: at.row - page, column: at.column },
      PageDown: { row: at.row + page, column: at.column },
      Home: { row: event.ctrlKey ? 0 : at.row, column: 0 },
      End: { row: event.ctrlKey ? rows.length : at.row, column: columns.length },
    };
    const move = moves[event.key];
    if (event.key === 'Enter' || event.key === ' ') onOpen(at);
    else if (move) setCursor(inside(move));
    else return;
    setHovered(undefined);
    event.preventDefault();
  };
  return (
    <div class="matrix" ref={box}>
      {layout && (
        <div class="canvas" style={{ width: `${layout.width}px`, height: `${layout.height}px` }}>
          {layout.groups.map(({ title, isFolded, left, width }) => (
            <button
              key={title}
              type="button"
              class="group"
              aria-label={title}
              aria-expanded={!isFolded}
              title={`${title}: ${isFolded ? 'show its topics' : 'sum up its topics'}`}
              style={{ left: `${left}px`, width: `${width - 1}px` }}
              onClick={() => onFold(title)}
            >
              {/* The upright title says it if there is no room. */}
              {isFolded ? layout.titles === 'level' && title : width >= 40 && title}
            </button>
          ))}
          {/* biome-ignore lint/a11y/useSemanticElements: a table cannot hold a canvas */}
          <div
            role="grid"
            tabIndex={0}
            aria-label="Coverage: arrow keys move, Enter opens"
            aria-rowcount={rows.length}
            aria-colcount={columns.length}
            aria-activedescendant="cell"
            onKeyDown={onKey}
            onFocus={() => setFocus(true)}
            onBlur={() => setFocus(false)}
          >
            <canvas
              ref={canvas}
              class={hovered && 'pointed'}
              onPointerMove={(event) => setHovered(find(event))}
              onPointerLeave={() => setHovered(undefined)}
              onClick={(event) => {
                const place = find(event);
                if (!place) return;
                setCursor(place);
                onOpen(place);
              }}
            />
            {/* biome-ignore lint/a11y/useSemanticElements: as above */}
            <div role="row" tabIndex={-1} class="hidden" aria-rowindex={at.row + 1}>
              {/* biome-ignore lint/a11y/useSemanticElements: as above */}
              <div role="gridcell" tabIndex={-1} id="cell" aria-colindex={at.column + 1}>
                {said(shown, at)}
              </div>
            </div>
          </div>
          {open && <Frame layout={layout} place={inside(open)} kind="open" />}
          {told && <Frame layout={layout} place={told} kind="cursor" />}
          <div ref={mark} class="mark-cursor" style={boxOf(layout, at)} />
          {told && <Tip shown={shown} layout={layout} place={told} />}
        </div>
      )}
      <p class="hidden" aria-live="polite">
        {told && said(shown, told)}
      </p>
    </div>
  );
}

function boxOf({ columns, top, across, down, gap }: Layout, { row, column }: Place) {
  return {
    left: `${columns[column]}px`,
    top: `${top + row * down}px`,
    width: `${across - gap}px`,
    height: `${down - 1}px`,
  };
}

function Frame({ layout, place, kind }: { layout: Layout; place: Place; kind: 'open' | 'cursor' }) {
  return <div class={`frame ${kind}`} style={boxOf(layout, place)} />;
}

/** Describes a cell: "US, Inflation-Food: 1,096 of 1,461 days covered (75.0%), 30 failed". */
function said(shown: Shown, place: Place): string {
  const row = shown.rows[place.row];
  if (!row || !shown.columns[place.column]) return 'nothing';
  return `${row.code || 'all'}, ${titleOf(shown, place.column)}: ${inWords(daysOf(shown, [place.row], [place.column]))}`;
}

function titleOf({ columns }: Shown, column: number): string {
  const { title, isFolded, of } = columns[column]!;
  return isFolded ? `${title} (${number(of.length)} ${of.length === 1 ? 'topic' : 'topics'})` : title;
}

function Tip({ shown, layout, place }: { shown: Shown; layout: Layout; place: Place }) {
  const { code, name } = shown.rows[place.row]!;
  const x = layout.columns[place.column]! + layout.across / 2;
  const y = layout.top + place.row * layout.down;
  // On the side with room, so that it stays within the matrix.
  const isRight = x > layout.width / 2;
  const isHigh = y < layout.height / 2;
  const side = isRight ? { right: `${Math.max(0, layout.width - x)}px` } : { left: `${x}px` };
  const level = isHigh ? { top: `${y + layout.down + 6}px` } : { bottom: `${layout.height - y + 6}px` };
  return (
    <div class="tip" aria-hidden="true" style={{ ...side, ...level }}>
      <strong>
        {[code, name].filter(Boolean).join(' ')} · {titleOf(shown, place.column)}
      </strong>
      <br />
      {inWords(daysOf(shown, [place.row], [place.column]))}
    </div>
  );
}
