import './style.css';
import { renderToString } from 'preact-render-to-string';
import { type Answer, addressOf, asAnswer, type Parameters, Report } from './api.ts';
import { cellsOf, daysOf, inWords, type SeriesAsked, shownOf } from './draw/cells.ts';
import type { ReportPage } from './loader.ts';
import { Scroll, Section } from './parts.tsx';
import type { Path } from './rows.ts';
import { daysBetween, moment } from './time.ts';
import { Legend, Matrix } from './views/coverage/matrix.tsx';
import { Today } from './views/today/today.tsx';

/** Writes the report: the view of today, and the coverage of each feed. */
export const renderReport: ReportPage['renderReport'] = async (ask, about) => {
  const answers = new Map<string, Answer<Path>>();
  async function answer<Of extends Path>(path: Of, parameters: Parameters = {}): Promise<Answer<Of>> {
    const found = asAnswer<Of>(await ask(path, parameters));
    answers.set(addressOf(path, parameters), found);
    return found;
  }
  const feeds = await answer('feeds');
  const listed = await answer('series');
  const origin = await answer('origin');
  const coverage = [];
  for (const { feed, match_type, oldest, newest } of feeds.rows) {
    const asked = { feed, match_type, from: oldest, to: newest };
    const { rows } = await answer('coverage', asked);
    coverage.push({ ...asked, cells: cellsOf(feed, daysBetween(oldest, newest), rows, listed.rows) });
  }
  // The view of today needs these.
  await answer('loads', { limit: 50 });
  await answer('requests', {});
  for (const path of ['jobs', 'alerts', 'workers', 'checks', 'failures', 'fields', 'arrival'] as const)
    await answer(path);

  const body = renderToString(
    <Report.Provider value={answers}>
      <header class="row top">
        <strong class="mark">gmsi</strong>
        <span class="anywhere">{about.warehouse}</span>
        {origin.rows[0]?.served_by === 'sandbox' && <span class="badge refused small">made-up data</span>}
        <span class="quiet end">as of {moment(about.at.getTime())} UTC</span>
      </header>
      <main class="report">
        <h1>Today</h1>
        <Today />
        <h1 class="titled">Coverage</h1>
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

function OfFeed({ feed, match_type, from, to, cells }: SeriesAsked & { cells: ReturnType<typeof cellsOf> }) {
  const shown = shownOf(cells, true, new Set());
  const days = daysOf(shown);
  return (
    <Section title={[feed, match_type].filter(Boolean).join(' · ')}>
      <p>
        {from} to {to}: {inWords(days)}
      </p>
      <Legend days={days} />
      {shown.rows.length > 0 && (
        <Scroll label="Coverage by series">
          <Matrix shown={shown} />
        </Scroll>
      )}
    </Section>
  );
}
