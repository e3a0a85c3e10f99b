import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { address, chosen, go } from '../../address.ts';
import type { Chart } from '../../draw/points.ts';
import { Flowing, Select, Switch } from '../../parts.tsx';
import { dayOf, readDays } from '../../time.ts';
import { againsts } from './asked.ts';
import { type About, Changes } from './changes.tsx';
import { Headlines } from './headlines.tsx';
import { Numbers } from './numbers.tsx';
import { selectedIn } from './selected.ts';

const panes = { stories: 'Stories', headlines: 'Headlines', numbers: 'Numbers' };

const none = { at: null, of: null, find: null, days: null, pane: null };

/** Opens no point and no days. What has the focus in the pane may go: the chart gets the focus. */
function close(days: Parameters<typeof go>[0] = {}): void {
  if (document.activeElement?.closest('.pane')) document.querySelector<HTMLElement>('.canvas')?.focus();
  go({ ...none, ...days });
}

/** Shows beside a chart what is behind a point or chosen days of it. */
export function Pane({ chart, about }: { chart: Chart; about: About }) {
  const { against, asOf } = about;
  const selected = selectedIn(chart, asOf);
  const pane = chosen<keyof typeof panes>('pane', panes, selected.open === null ? 'stories' : 'headlines');
  const [from, to] = [dayOf(selected.from), dayOf(selected.to - 1)];
  // Others than the common ones are chosen in the chart.
  const own = readDays(against);
  const isChosen = selected.open !== null || address.value.has('days');
  const top = useRef<HTMLDivElement>(null);
  const at = address.value.get('at') ?? address.value.get('days');
  // On a narrow screen, it is below the chart.
  useEffect(() => {
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    if (at) top.current?.scrollIntoView({ block: 'nearest', behavior });
  }, [at]);
  // Before it is painted, so that a key pressed at once is not lost.
  useLayoutEffect(() => {
    const onKey = ({ key, target, defaultPrevented }: KeyboardEvent) => {
      const isElsewhere =
        (target as Element).closest('input, select') ?? document.querySelector(':popover-open');
      if (key === 'Escape' && !defaultPrevented && !isElsewhere) close();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <aside class="panel pane" aria-label="Behind the chart">
      <div class="row" ref={top}>
        <Switch label="Behind the chart" name="pane" value={pane} values={panes} />
        {isChosen && (
          <span class="row end">
            {from < to && (
              <button type="button" onClick={() => close({ from, to })}>
                Zoom in
              </button>
            )}
            <button type="button" onClick={() => close()}>
              Close
            </button>
          </span>
        )}
      </div>
      {pane === 'stories' && (
        <>
          <p class="quiet small screen">
            <Flowing text={`${from} to ${to} against `} />
            <Select
              label="Against"
              value={against}
              values={[...(own ? [[against, own.join(' to ')] as const] : []), ...Object.entries(againsts)]}
              onChange={(against) => go({ against })}
            />
            {!isChosen &&
              '. Drag over the chart to choose other days, with Shift what they are compared with.'}
          </p>
          <Changes {...about} {...{ from, to }} isBrief />
        </>
      )}
      {pane === 'headlines' && <Headlines {...{ chart, selected, asOf }} />}
      {pane === 'numbers' && <Numbers chart={chart} />}
    </aside>
  );
}
