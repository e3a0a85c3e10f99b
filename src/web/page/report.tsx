import { renderToString } from 'preact-render-to-string';
import type { listedSeries, loadedFeeds, servedBy } from '../../warehouse/questions/contents.ts';
import type { coverageOfSeries } from '../../warehouse/questions/coverage.ts';
import type { ReportPage } from '../report.ts';
import { type Answer, addressOf, asAnswer, type Parameters, Report } from './api.ts';
import { cellsOf, daysOf, inWords, shownOf } from './draw/cells.ts';
import { Scroll } from './parts.tsx';
import type { Row } from './rows.ts';
import { daysBetween, moment, today } from './time.ts';
import { Legend } from './views/coverage/legend.tsx';
import { Matrix } from './views/coverage/matrix.tsx';
import { Today } from './views/today/today.tsx';
import './style.css';

/** Writes the report: the view of today, and the coverage of each feed. */
export const renderReport: ReportPage['renderReport'] = async (ask, about) => {
  const answers = new Map<string, Answer<unknown>>();
  async function answer<Asked>(path: string, parameters: Parameters = {}): Promise<Answer<Row<Asked>>> {
    const url = addressOf(path, parameters);
    const found = { ...asAnswer<Row<Asked>>(await ask(path, parameters)), url };
    answers.set(url, found);
    return found;
  }
  const feeds = await answer<typeof loadedFeeds>('feeds');
  const listed = await answer<typeof listedSeries>('series');
  const origin = await answer<typeof servedBy>('origin');
  const coverage = [];
  for (const { feed, match_type, oldest, newest } of feeds.rows) {
    const asked = { feed, match_type, from: oldest, to: newest };
    const { rows } = await answer<typeof coverageOfSeries>('coverage', asked);
    coverage.push({ ...asked, cells: cellsOf(feed, daysBetween(oldest, newest), rows, listed.rows) });
  }
  // The view of today needs these.
  await answer('loads', { limit: 50 });
  await answer('requests', { month: today().slice(0, 7) });
  for (const path of ['jobs', 'alerts', 'workers', 'checks', 'failures', 'fields']) await answer(path);

  const body = renderToString(
    <Report.Provider value={answers}>
      <header class="top">
        <strong class="mark">gmsi</strong>
        <span class="from">{about.warehouse}</span>
        {origin.rows[0]?.served_by === 'sandbox' && <span class="badge">made-up data</span>}
        <span class="grow" />
        <span class="quiet">as of {moment(about.at.getTime())} UTC</span>
      </header>
      <main class="report">
        <Today />
        <h1>Coverage</h1>
        {coverage.length === 0 && <p class="quiet">Nothing has been loaded yet.</p>}
        {coverage.map((one) => (
          <OfFeed key={`${one.feed}/${one.match_type}`} {...one} />
        ))}
      </main>
    </Report.Provider>,
  );
  const title = `gmsi, ${about.at.toISOString().slice(0, 10)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>
${about.styles}
</style>
</head>
<body>
${body}
</body>
</html>
`;
};

function OfFeed({
  feed,
  match_type,
  from,
  to,
  cells,
}: {
  feed: string;
  match_type: string;
  from: string;
  to: string;
  cells: ReturnType<typeof cellsOf>;
}) {
  const shown = shownOf(cells, true, new Set());
  const days = daysOf(shown);
  return (
    <section>
      <h2>{[feed, match_type].filter(Boolean).join(' · ')}</h2>
      <p>
        {from} to {to}: {inWords(days)}
      </p>
      <Legend days={days} />
      {shown.rows.length > 0 && (
        <Scroll label="Coverage by series">
          <Matrix shown={shown} />
        </Scroll>
      )}
    </section>
  );
}
