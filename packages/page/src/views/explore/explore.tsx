import { go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { buckets } from '../../buckets.ts';
import { Choose, namesIn, useChoices } from '../../choose.tsx';
import { Chip, Period, Problem, Select, Switch, useTitle } from '../../parts.tsx';
import { daysOfFeeds } from '../../rows.ts';
import { plusDays, today } from '../../time.ts';
import { NoHeadlines } from '../commands.tsx';
import { AsOfChip, UnknownMoment, useMoments } from './as-of.tsx';
import {
  type Asked,
  againsts,
  askedFor,
  asOfIn,
  feed,
  kinds,
  matches,
  models,
  mostLines,
  spans,
} from './asked.ts';
import { Changes } from './changes.tsx';
import { Feeds } from './feeds.tsx';
import { Lines } from './lines.tsx';
import { Shows, shown } from './shows.tsx';

/** As many countries or topics as may be compared without a line for each. */
const mostCompared = 100;

/** Shows what was asked of the headlines, or of another feed: as lines, or what changed. */
export function Explore() {
  return shown() === 'feeds' ? <Feeds /> : <OfHeadlines />;
}

function OfHeadlines() {
  const feeds = useAnswer('feeds', {}, 30);
  const named = useMoments() ?? [];
  const loaded = feeds.answer?.rows.filter((row) => row.feed === feed);
  const first = loaded?.[0];
  const { requested: series, countries, topics } = useChoices(first);
  const isAll = shown() === 'changes';
  const fullest = useAnswer('series/fullest', isAll ? undefined : { feed, limit: 1 }, 300);
  const { oldest, newest } = daysOfFeeds(loaded);
  const [most] = fullest.answer?.rows ?? [];
  const any = isAll ? undefined : (most ?? (fullest.answer && series[0]));
  // The current day is not over: a change would compare a part of it.
  const end = isAll ? plusDays(asOfIn(named)?.slice(0, 10) ?? today(), -1) : today();
  const last = newest === undefined || newest > end ? end : newest;
  const asked = askedFor({
    country: any?.country,
    topic: any?.topic,
    oldest,
    moments: named,
    match: most?.match_type ?? first?.match_type ?? 'COMBINED',
    newest: last,
  });
  const { show } = asked;
  const ofCountries = namesIn(countries, asked.countries);
  const ofTopics = namesIn(topics, asked.topics);
  useTitle('Explore', asked.countries.join(', '), asked.topics.join(', '));
  if (feeds.error && !loaded) return <Problem error={feeds.error} />;
  if (loaded?.length === 0 && asked.countries.length === 0) return <NoHeadlines />;
  if (!loaded || (!isAll && (asked.countries.length === 0 || asked.topics.length === 0)))
    return fullest.error ? <Problem error={fullest.error} /> : <p class="quiet waiting">Asking …</p>;
  const what = [ofCountries, ofTopics].filter(Boolean).join(' · ');
  const names = Object.fromEntries(countries.map(({ code, name }) => [code, name]));
  const atMost = isAll ? mostCompared : mostLines;
  const choose = (name: string) => (chosen: string[]) =>
    go({ [name]: chosen.length > 0 ? chosen : null, at: null });
  return (
    <>
      <div class="row controls">
        <Shows />
        <Choose
          label="Countries"
          none="all"
          choices={countries}
          chosen={asked.countries}
          {...{ atMost }}
          onChange={choose('country')}
        />
        <Choose
          label="Topics"
          none="all"
          choices={topics}
          chosen={asked.topics}
          {...{ atMost }}
          onChange={choose('topic')}
        />
        <Period from={asked.from} to={asked.to} oldest={oldest} newest={last} />
        {isAll && <Switch label="Of" title="of" name="each" value={asked.each} values={kinds} />}
        <AsOfChip asOf={asked.asOf} />
        <Chip label="Shown" title={shownOf(asked)}>
          <Switch label="Model" title="model" name="model" value={asked.model} values={models} />
          {show === 'lines' && (
            <>
              <Switch label="Mean by" title="by" name="by" value={asked.by} values={buckets} />
              {asked.by !== 'month' && (
                <Switch
                  label="Trailing mean"
                  title="trailing mean"
                  name="smooth"
                  value={asked.smoothing}
                  values={spans}
                />
              )}
            </>
          )}
          {isAll && (
            <Switch label="Against" title="against" name="against" value={asked.against} values={againsts} />
          )}
          <Matches asked={asked} loaded={loaded.map((row) => row.match_type)} />
        </Chip>
      </div>
      <UnknownMoment />
      {show === 'lines' && <Lines {...{ ...asked, what, names }} />}
      {isAll && <Changes {...{ ...asked, what, names }} />}
    </>
  );
}

/** Says how it is shown: the model, what a mean is of, and what is not as usual. */
function shownOf(asked: Asked): string {
  const { show, model, by, smooth, against, matches: news } = asked;
  const isLines = show === 'lines';
  const parts = [
    model,
    isLines && `by ${by}`,
    isLines && smooth > 1 && `${smooth}-day mean`,
    show === 'changes' && `against ${againsts[against] ?? against}`,
    news.join() !== 'COMBINED' && `${news.map((one) => one.toLowerCase()).join(' and ')} news`,
  ];
  return parts.filter(Boolean).join(', ');
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
