import { address, go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { buckets } from '../../buckets.ts';
import { type Choice, Choose } from '../../choose.tsx';
import { Controls, Period, Problem, Select, Switch, useTitle } from '../../parts.tsx';
import { moment, today, zone } from '../../time.ts';
import { AsOf, AsOfSwitch } from './as-of.tsx';
import { type Asked, askedFor, feed, matches, models, mostLines, seriesOf, shows, spans } from './asked.ts';
import { HeatMap, type Topic } from './heat.tsx';
import { Lines } from './lines.tsx';
import { type Country, WorldMap } from './map.tsx';
import './sentiment.css';

/** Shows sentiment over time, by country and by topic. */
export function Sentiment() {
  return (
    <>
      <h1 class="hidden">Sentiment</h1>
      <Loaded />
    </>
  );
}

function Loaded() {
  const feeds = useAnswer('feeds', {}, 30);
  const listed = useAnswer('series', {}, 60);
  const named = useAnswer('moments', {}, 300).answer?.rows ?? [];
  const loaded = feeds.answer?.rows.filter((row) => row.feed === feed);
  const first = loaded?.[0];
  const coverage = useAnswer(
    'coverage',
    first && { feed, match_type: first.match_type, from: first.oldest, to: first.newest },
    30,
  );
  const isChosen = address.value.has('country') && address.value.has('topic');
  const fullest = useAnswer('series/fullest', isChosen ? undefined : { feed, limit: 1 }, 300);
  const oldest = loaded?.map((row) => row.oldest).toSorted()[0];
  const newest = loaded
    ?.map((row) => row.newest)
    .toSorted()
    .at(-1);
  const series = coverage.answer?.rows ?? [];
  const [most] = fullest.answer?.rows ?? [];
  const any = most ?? (fullest.answer && series[0]);
  const asked = askedFor({
    ...{
      country: any?.country,
      topic: any?.topic,
      match: most?.match_type ?? first?.match_type ?? 'COMBINED',
    },
    oldest,
    moments: named,
    newest: newest === undefined || newest > today() ? today() : newest,
  });
  const ofCountries = asked.show === 'map' ? '' : asked.countries.join(', ');
  const ofTopics = asked.show === 'heat' ? '' : asked.topics.join(', ');
  useTitle('Sentiment', ofCountries, ofTopics);
  if (feeds.error && !loaded) return <Problem error={feeds.error} />;
  if (loaded?.length === 0 && !isChosen) return <NothingLoaded />;
  if (!loaded || asked.countries.length === 0 || asked.topics.length === 0)
    return fullest.error ? <Problem error={fullest.error} /> : <p class="quiet waiting">Asking …</p>;
  const choices = (kind: 'country' | 'topic') =>
    choicesOf(listed.answer?.rows.filter((row) => row.kind === kind) ?? [], [
      ...new Set(series.map((row) => row[kind])),
    ]);
  return (
    <>
      <Controls
        chosen={[
          ofCountries,
          ofTopics,
          `${asked.from} to ${asked.to}`,
          asked.models.join() !== 'directional' && modelOf(asked),
          asked.by !== 'day' && `by ${asked.by}`,
          asked.asOf && `as of ${moment(asked.asOf)} ${zone.value}`,
        ]}
      >
        <div class="row asked">
          <Switch label="Shown as" name="show" value={asked.show} values={shows} />
          {asked.show !== 'map' && (
            <Choose
              label="Countries"
              choices={choices('country')}
              chosen={asked.countries}
              atMost={mostLines}
              onChange={(country) => go({ country: country.length > 0 ? country : null, at: null })}
            />
          )}
          {asked.show !== 'heat' && (
            <Choose
              label="Topics"
              choices={choices('topic')}
              chosen={asked.topics}
              atMost={mostLines}
              onChange={(topic) => go({ topic: topic.length > 0 ? topic : null, at: null })}
            />
          )}
          <Period from={asked.from} to={asked.to} oldest={oldest} newest={newest} />
        </div>
        <div class="row asked">
          <Matches asked={asked} loaded={loaded.map((row) => row.match_type)} />
          <Switch
            label="Model"
            title="model"
            name="model"
            value={modelOf(asked)}
            values={modelsFor(asked.show)}
          />
          {asked.show === 'lines' && (
            <>
              <Switch label="Mean by" title="by" name="by" value={asked.by} values={buckets} />
              <Switch
                label="Trailing mean"
                title="trailing mean"
                name="smooth"
                value={smoothOf(asked)}
                values={spans}
              />
            </>
          )}
          {asked.show === 'lines' && seriesOf(asked).length === 2 && (
            <button
              type="button"
              aria-pressed={asked.difference}
              onClick={() => go({ difference: asked.difference ? null : '1' })}
            >
              difference
            </button>
          )}
          {asked.show === 'lines' && asked.smooth === 1 && (
            <button
              type="button"
              aria-pressed={asked.band}
              onClick={() => go({ band: asked.band ? null : '1' })}
            >
              uncertainty
            </button>
          )}
          <AsOfSwitch asOf={asked.asOf} />
        </div>
      </Controls>
      {asked.asOf && <AsOf asOf={asked.asOf} show={asked.show} named={named} />}
      {asked.show === 'lines' && <Lines asked={asked} />}
      {asked.show === 'heat' && (
        <HeatMap asked={asked} topics={loadedTopics(listed.answer?.rows ?? [], series)} />
      )}
      {asked.show === 'map' && (
        <WorldMap
          asked={asked}
          countries={countriesOf(
            listed.answer?.rows ?? [],
            series.map(({ country }) => country),
          )}
        />
      )}
    </>
  );
}

function NothingLoaded() {
  return (
    <p class="empty">
      No headlines are loaded yet. <code>npx gmsi backfill &lt;job&gt;</code> loads those of a job, and{' '}
      <code>npx gmsi demo</code> tries it out with made-up ones; this page shows them as they come.
    </p>
  );
}

/** Returns the models to choose from: a colour shows one model, lines show both. */
function modelsFor(show: Asked['show']) {
  return (Object.entries(models) as [keyof typeof models, string][]).slice(0, show === 'lines' ? 3 : 2);
}

function modelOf({ show, models: [first, second] }: Asked): keyof typeof models {
  return show === 'lines' && second ? 'both' : first!;
}

function smoothOf({ smooth }: Asked): (typeof spans)[number][0] {
  return smooth === 1 ? 'none' : (String(smooth) as '7' | '28');
}

/** Returns the requested topics by category. */
function loadedTopics(
  listed: readonly { kind: string; code: string; name: string | null }[],
  loaded: readonly { topic: string }[],
): Topic[] {
  const categories = new Map(listed.map(({ code, name }) => [code, name ?? '']));
  return [...new Set(loaded.map(({ topic }) => topic))]
    .map((name) => ({ name, category: categories.get(name) ?? '' }))
    .toSorted((a, b) => a.category.localeCompare(b.category) || a.name.localeCompare(b.name));
}

/** Returns all countries by name, also those that the service no longer lists. */
function countriesOf(
  listed: readonly { kind: string; code: string; name: string | null }[],
  loaded: readonly string[],
): Country[] {
  const names = new Map(loaded.map((code) => [code, code]));
  for (const { kind, code, name } of listed) if (kind === 'country') names.set(code, name ?? code);
  return [...names].map(([code, name]) => ({ code, name }));
}

/** Returns the choices, loaded ones first. */
function choicesOf(listed: readonly { code: string; name: string | null }[], loaded: string[]): Choice[] {
  const known = new Map(listed.map(({ code, name }) => [code, name]));
  const isCountry = (code: string) => code.length === 2;
  return [...new Set([...loaded, ...known.keys()])].map((code) => {
    const name = known.get(code) ?? '';
    const note = loaded.includes(code) ? '' : 'not loaded';
    return isCountry(code)
      ? { value: code, title: name ? `${code} ${name}` : code, note }
      : { value: code, title: code, group: name, note };
  });
}

/** Chooses which news counts: one match type, or domestic against international. */
function Matches({ asked, loaded }: { asked: Asked; loaded: readonly string[] }) {
  const current = asked.matches.join();
  const choices = new Map(Object.entries(matches));
  if (asked.show === 'lines') choices.set('DOMESTIC,INTERNATIONAL', 'domestic against international');
  if (!choices.has(current)) choices.set(current, asked.matches.join(' against ').toLowerCase());
  return (
    <Select
      label="Which news counts"
      title="news"
      value={current}
      values={[...choices].map(([chosen, title]) => {
        const isLoaded = chosen.split(',').every((match) => loaded.includes(match));
        return [chosen, isLoaded ? title : `${title} (not loaded)`];
      })}
      onChange={(chosen) => go({ match_type: chosen.split(','), at: null })}
    />
  );
}
