import { useEffect, useState } from 'preact/hooks';
import { address, chosen, go } from './address.ts';
import { completeTo, isLive, showToken, useAnswer, wantsToken } from './api.ts';
import { findSeries } from './choose.tsx';
import { Link, Problem, Select, Swatch } from './parts.tsx';
import { report } from './report.ts';
import { moment, zone, zones } from './time.ts';
import { Briefing } from './views/briefing/briefing.tsx';
import { Explore } from './views/explore/explore.tsx';
import { Pipeline } from './views/pipeline/pipeline.tsx';

const all = { briefing: Briefing, explore: Explore, pipeline: Pipeline };
type View = keyof typeof all;
const names = (Object.keys(all) as View[]).filter((name) => !report || name !== 'explore');
const views = Object.fromEntries(names.map((name) => [name, all[name]])) as typeof all;

function titleOf(view: View): string {
  return `${view[0]!.toUpperCase()}${view.slice(1)}`;
}

/** What each view showed last: a choice or a zoom in one view limits no other. */
const shown = new Map<View, Readonly<Record<string, readonly string[]>>>();

function chosenNow() {
  return Object.fromEntries(
    ['from', 'to', 'country', 'topic'].map((name) => [name, address.value.getAll(name)]),
  );
}

function toView(view: View) {
  return { view, from: null, to: null, country: null, topic: null, ...shown.get(view) };
}

export function App() {
  const current = chosen('view', views);
  const Shown = views[current];
  const origin = useAnswer('origin', {}, 60).answer?.rows[0];
  shown.set(current, chosenNow());
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea');
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const view = names[Number(event.key) - 1];
      if (view) go(toView(view));
      else if (event.key === '?') document.getElementById('keys')?.showPopover();
      else if (event.key === '/') {
        event.preventDefault();
        if (!findSeries()) go({ view: 'explore', from: null, to: null });
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <header class="row top">
        <a class="mark" href="?">
          gmsi
        </a>
        <nav aria-label="Views">
          {names.map((name, index) => (
            <Link
              key={name}
              to={toView(name)}
              aria-current={name === current ? 'page' : undefined}
              title={`${titleOf(name)} (${index + 1})`}
            >
              {titleOf(name)}
            </Link>
          ))}
        </nav>
        {origin?.served_by === 'sandbox' && (
          <span class="badge refused small made-up" title="All headlines here are made up by a sandbox.">
            made-up data
          </span>
        )}
        <Select
          label="Times in"
          title="times in"
          value={zone.value}
          values={zones.map((name) => [name, name])}
          onChange={(zone) => go({ zone })}
        />
        {report ? (
          <span class="quiet anywhere end">
            {report.warehouse}, as of {moment(report.at)}
          </span>
        ) : (
          <span class={`quiet small live ${isLive.value ? 'on' : ''}`} role="status">
            <Swatch kind="round" colour={`var(--${isLive.value ? 'covered' : 'pending'})`} />
            {isLive.value ? 'live' : 'not live'}
          </span>
        )}
        {completeTo.value && (
          <span class="quiet" title="This page reads a standby, which has everything up to this moment.">
            standby, complete to{' '}
            {completeTo.value === 'unknown' ? 'an unknown moment' : moment(completeTo.value, true)}
          </span>
        )}
        <button type="button" class="flat keys" title="Keys (?)" aria-label="Keys" popovertarget="keys">
          ?
        </button>
      </header>
      <main id="view" tabIndex={-1}>
        {wantsToken.value ? (
          <AskForToken />
        ) : (
          <>
            <h1 class={current === 'explore' ? 'hidden' : undefined}>{titleOf(current)}</h1>
            <Shown />
          </>
        )}
      </main>
      <Keys />
    </>
  );
}

const keys = [
  [`1 to ${names.length}`, 'changes the view'],
  ['/', 'finds a country or a topic'],
  ['arrows, Page Up, Page Down, Home, End', 'move in a chart or a grid'],
  ['Enter', 'opens what is marked: headlines, days, a line'],
  ['Escape', 'closes it'],
  ['?', 'shows this list'],
] as const;

function Keys() {
  return (
    <dialog id="keys" popover="auto" aria-label="Keys">
      <table>
        <tbody>
          {keys.map(([key, does]) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </dialog>
  );
}

function AskForToken() {
  const [problem, setProblem] = useState<string>();
  return (
    <form
      class="empty stack"
      onSubmit={async (event) => {
        event.preventDefault();
        setProblem(await showToken(String(new FormData(event.currentTarget).get('token'))));
      }}
    >
      <h1>This page needs a token</h1>
      <p class="quiet">Ask the person who started gmsi serve for GMSI_SERVE_TOKEN.</p>
      <label>
        Token <input name="token" type="password" autocomplete="current-password" required />
      </label>
      <button type="submit">Open</button>
      {problem && <Problem error={{ message: problem }} />}
    </form>
  );
}
