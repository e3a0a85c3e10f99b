import { useEffect, useRef, useState } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { addressOf, ask, type Parameters, type Refusal, useAnswer } from '../../api.ts';
import { isLoaded, type SeriesPoints } from '../../draw/points.ts';
import { counted, number, percent, score } from '../../numbers.ts';
import {
  Answered,
  Field,
  Problem,
  Select,
  SignedBar,
  Source,
  Switch,
  useEscape,
  useFocusBack,
} from '../../parts.tsx';
import { type Column, Table } from '../../table.tsx';
import { moment, zone } from '../../time.ts';
import { HeadlineText } from './headline-text.tsx';
import { Stories } from './stories.tsx';
import { type Headline, Versions } from './versions.tsx';

const pageSize = 100;

const closed = { at: null, of: null, find: null };

const lists = { latest: 'latest first', stories: 'what moved the mean' };

/** Shows the headlines behind a point, the latest first. */
export function Headlines({
  title,
  series,
  all,
  index,
  from,
  to,
  asOf,
}: {
  title: string;
  series: SeriesPoints;
  all: readonly SeriesPoints[];
  index: number;
  from: string;
  to: string;
  asOf: string | null;
}) {
  const { country, topic, match } = series;
  const find = address.value.get('find') || null;
  const of = { country, topic, match_type: match, from, to, as_of: asOf, find };
  const parameters: Parameters = { ...of, limit: pageSize };
  const model = address.value.get('model') === 'semantic' ? 'semantic' : 'directional';
  const list = address.value.get('list') === 'stories' ? 'stories' : 'latest';
  const asked = useAnswer('headlines', parameters);
  const url = addressOf('headlines', parameters);
  const section = useRef<HTMLElement>(null);
  useFocusBack(section, '.chart .canvas');
  useEscape(() => go(closed));
  // Again once the list has loaded: until then, the section is only as high as its title.
  useEffect(() => {
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    section.current?.scrollIntoView({ block: 'nearest', behavior });
  }, [from, asked.isAsking]);
  return (
    <section class="headlines panel" ref={section} aria-label={`Headlines of ${title}`}>
      <div class="row">
        <h2>Headlines of {title}</h2>
        {all.length > 1 ? (
          <Select
            label="Of which line"
            value={series.key}
            values={all.map(({ key, title, behind }) => [key, `${title} (${number(behind[index]!)})`])}
            onChange={(of) => go({ of }, 'replace')}
          />
        ) : (
          <span class="quiet">{series.title}</span>
        )}
        <Switch label="List" name="list" value={list} values={lists} />
        <Field
          label="Search these headlines"
          placeholder="Search"
          value={find ?? ''}
          onEnter={(find) => {
            go({ find: find || null }, 'replace');
            return undefined;
          }}
        />
        {list === 'latest' && <Source of={asked} />}
        <button type="button" class="end" onClick={() => go(closed)}>
          Close
        </button>
      </div>
      {list === 'stories' && <Stories parameters={{ ...of, model }} model={model} />}
      {list === 'latest' && (
        <Answered
          asked={asked}
          empty={
            find !== null
              ? `No headline here has “${find}”.`
              : isLoaded(series.states[index]!)
                ? 'There was no news here.'
                : 'Nothing is loaded here, so there may have been news.'
          }
        >
          {({ rows }) => <List key={url} first={rows} parameters={parameters} series={series} asOf={asOf} />}
        </Answered>
      )}
    </section>
  );
}

/** Shows headlines page by page. */
function List({
  first,
  parameters,
  series,
  asOf,
}: {
  first: readonly Headline[];
  parameters: Parameters;
  series: SeriesPoints;
  asOf: string | null;
}) {
  const [later, setLater] = useState<readonly Headline[]>([]);
  const [lastPage, setLastPage] = useState(first.length);
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<Refusal>();
  const isFirst = new Set(first.map((row) => row.headline_id));
  const rows = [...first, ...later.filter((row) => !isFirst.has(row.headline_id))];
  const last = rows.at(-1)!;
  // Part of the headlines in order would look like all of them.
  const sortable = (by: (row: Headline) => string | number | null) => (lastPage < pageSize ? by : undefined);
  const more = async () => {
    setAsking(true);
    const after = { after_time: last.published_at, after_id: last.headline_id };
    await ask<'headlines'>(addressOf('headlines', { ...parameters, ...after })).then(
      (answer) => {
        setLater((before) => [...before, ...answer.rows]);
        setLastPage(answer.rows.length);
        setError(undefined);
      },
      (error) => setError(error),
    );
    setAsking(false);
  };
  return (
    <>
      <Table
        label="Headlines"
        kind="news"
        rows={rows}
        // The same id may have been published twice.
        keyOf={({ published_at, headline_id }) => `${published_at} ${headline_id}`}
        sort="news"
        isFolded
        detail={(row) => <Versions row={row} series={series} asOf={asOf} />}
        columns={[
          {
            title: zone.value,
            kind: 'time',
            by: sortable(({ published_at }) => published_at),
            show: ({ published_at }) => moment(published_at),
          },
          {
            title: 'headline',
            kind: 'text',
            show: (row, _, unfold) => (
              <>
                <HeadlineText
                  text={row.headline}
                  url={row.url}
                  source={row.source}
                  isRetracted={row.retracted_at !== null}
                />{' '}
                <span class="quiet">
                  {row.language && ` · ${row.language}`}
                  {row.retracted_at && ` · retracted ${moment(row.retracted_at)}`}
                </span>
                {versionsTitle(row) && unfold(versionsTitle(row))}
              </>
            ),
          },
          ...(['directional', 'semantic'] as const).map(
            (model): Column<Headline> => ({
              title: model,
              kind: 'number',
              by: sortable((row) => row[`${model}_score`]),
              show: (row) => (
                <>
                  {score(row[`${model}_score`])}
                  <SignedBar value={row[`${model}_score`] ?? 0} />
                </>
              ),
            }),
          ),
          {
            title: 'topic',
            kind: 'number',
            hint: 'How probable it is that the headline is about the topic',
            by: sortable((row) => row.topic_probability),
            show: (row) => percent(row.topic_probability),
          },
        ]}
      />
      {error && <Problem error={error} />}
      {lastPage === pageSize && (
        <button type="button" disabled={isAsking} onClick={() => void more()}>
          {isAsking ? 'Asking …' : `More, after ${number(rows.length)}`}
        </button>
      )}
    </>
  );
}

function versionsTitle({ earlier, later }: Headline): string | undefined {
  const count = (versions: number, when: string) => versions > 0 && counted(versions, `${when} version`);
  const since = later > 0 && `changed since: ${count(later, 'later')}`;
  return [count(earlier, 'earlier'), since].filter(Boolean).join(', ') || undefined;
}
