import { address, go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { buckets } from '../../buckets.ts';
import { type Choice, Choose, namesIn, useChoices } from '../../choose.tsx';
import { Controls, More, Period, Problem, Select, Switch, Toggle, useTitle } from '../../parts.tsx';
import { daysOfFeeds } from '../../rows.ts';
import { moment, today, zone } from '../../time.ts';
import { NoHeadlines } from '../commands.tsx';
import { AsOf, AsOfSwitch } from './as-of.tsx';
import {
  type Asked,
  askedFor,
  feed,
  matches,
  models,
  mostLines,
  oneModel,
  seriesOf,
  shows,
  spans,
} from './asked.ts';
import { HeatMap, type Topic } from './heat.tsx';
import { Lines } from './lines.tsx';

/** Shows sentiment over time, by country and by topic. */
export function Sentiment() {
  const feeds = useAnswer('feeds', {}, 30);
  const named = useAnswer('moments', {}, 300).answer?.rows ?? [];
  const known = useAnswer('loads/known', { feed }, 30).answer?.rows[0];
  const loaded = feeds.answer?.rows.filter((row) => row.feed === feed);
  const first = loaded?.[0];
  const { requested: series, countries, topics } = useChoices(first);
  const isChosen = address.value.has('country') && address.value.has('topic');
  const fullest = useAnswer('series/fullest', isChosen ? undefined : { feed, limit: 1 }, 300);
  const { oldest, newest } = daysOfFeeds(loaded);
  const [most] = fullest.answer?.rows ?? [];
  const any = most ?? (fullest.answer && series[0]);
  const asked = askedFor({
    country: any?.country,
    topic: any?.topic,
    oldest,
    moments: named,
    match: most?.match_type ?? first?.match_type ?? 'COMBINED',
    newest: newest === undefined || newest > today() ? today() : newest,
  });
  const ofCountries = asked.countries.join(', ');
  const ofTopics = asked.show === 'heat' ? '' : asked.topics.join(', ');
  useTitle('Sentiment', ofCountries, ofTopics);
  if (feeds.error && !loaded) return <Problem error={feeds.error} />;
  if (loaded?.length === 0 && !isChosen) return <NoHeadlines />;
  if (!loaded || asked.countries.length === 0 || asked.topics.length === 0)
    return fullest.error ? <Problem error={fullest.error} /> : <p class="quiet waiting">Asking …</p>;
  return (
    <>
      <Controls
        chosen={[
          ofCountries,
          ofTopics,
          `${asked.from} to ${asked.to}`,
          asked.model !== 'directional' && asked.model,
          asked.by !== 'day' && `by ${asked.by}`,
          asked.asOf && `as of ${moment(asked.asOf)} ${zone.value}`,
        ]}
      >
        <div class="row asked">
          <Switch label="Shown as" name="show" value={asked.show} values={shows} />
          <Choose
            label="Countries"
            choices={countries}
            chosen={asked.countries}
            atMost={mostLines}
            onChange={(country) => go({ country: country.length > 0 ? country : null, at: null })}
          />
          {asked.show !== 'heat' && (
            <Choose
              label="Topics"
              choices={topics}
              chosen={asked.topics}
              atMost={mostLines}
              onChange={(topic) => go({ topic: topic.length > 0 ? topic : null, at: null })}
            />
          )}
          <Period from={asked.from} to={asked.to} oldest={oldest} newest={newest} />
        </div>
        <div class="row asked">
          <Switch
            label="Model"
            title="model"
            name="model"
            value={asked.model}
            values={asked.show === 'lines' ? models : oneModel}
          />
          {asked.show === 'lines' && (
            <Switch label="Mean by" title="by" name="by" value={asked.by} values={buckets} />
          )}
          <AsOfSwitch asOf={asked.asOf} known={known} />
          <More
            unusual={[
              asked.matches.join() !== 'COMBINED' &&
                asked.matches.map((match) => matches[match as keyof typeof matches] ?? match).join(' and '),
              asked.smooth > 1 && `trailing mean of ${asked.smooth} days`,
              asked.difference && 'difference',
              asked.band && 'uncertainty',
            ]}
          >
            <Matches asked={asked} loaded={loaded.map((row) => row.match_type)} />
            {asked.show === 'lines' && (
              <>
                <Switch
                  label="Trailing mean"
                  title="trailing mean"
                  name="smooth"
                  value={asked.smoothing}
                  values={spans}
                />
                {seriesOf(asked).length === 2 && <Toggle name="difference" title="difference" />}
                {asked.smooth === 1 && <Toggle name="band" title="uncertainty" />}
              </>
            )}
          </More>
        </div>
      </Controls>
      {asked.asOf && <AsOf asOf={asked.asOf} {...{ known, named }} show={asked.show} />}
      {asked.show === 'lines' && (
        <Lines
          asked={asked}
          what={[namesIn(countries, asked.countries), namesIn(topics, asked.topics)].join(' · ')}
        />
      )}
      {asked.show === 'heat' && (
        <HeatMap
          asked={asked}
          topics={loadedTopics(topics)}
          countries={namesIn(countries, asked.countries)}
        />
      )}
    </>
  );
}

function loadedTopics(topics: readonly Choice[]): Topic[] {
  return topics
    .filter(({ note }) => note === '')
    .map(({ code, group }) => ({ name: code, category: group ?? '' }))
    .toSorted((a, b) => a.category.localeCompare(b.category) || a.name.localeCompare(b.name));
}

/** Chooses which news counts: one match type, or domestic against international. */
function Matches({ asked, loaded }: { asked: Asked; loaded: readonly string[] }) {
  const against = 'DOMESTIC,INTERNATIONAL';
  const all = { ...matches, ...(asked.show === 'lines' && { [against]: 'domestic against international' }) };
  const values = Object.entries(all).map(([match, title]) => {
    const isLoaded = match.split(',').every((one) => loaded.includes(one));
    return [match, isLoaded ? title : `${title} (not loaded)`] as const;
  });
  return (
    <Select
      label="Which news counts"
      title="news"
      value={asked.matches.join()}
      values={values}
      onChange={(chosen) => go({ match_type: chosen.split(','), at: null })}
    />
  );
}
