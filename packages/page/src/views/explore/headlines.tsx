import { useId, useState } from 'preact/hooks';
import { address, go } from '../../address.ts';
import { type AnswersTo, type Parameters, question, useAnswer, useTogether } from '../../api.ts';
import { type Chart, isLoaded, type SeriesKey } from '../../draw/points.ts';
import { counted, number, percent, score } from '../../numbers.ts';
import { Answered, Field, Flowing, Select, Signed } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { type Column, Table } from '../../table.tsx';
import { moment, zone } from '../../time.ts';
import type { Selected } from './selected.ts';

const most = 500;

function questionsOf(about: {
  readonly series: SeriesKey;
  readonly title: string;
  readonly isLoaded: boolean;
  readonly from: string;
  readonly to: string;
  readonly asOf: string | null;
  readonly find: string | null;
}) {
  const { series, from, to, asOf, find } = about;
  const { country, topic, match } = series;
  const of = { country, topic, match_type: match, from, to, as_of: asOf, find };
  return { latest: question('headlines', { ...of, limit: most }) };
}

/** Shows the headlines of a line in a period, the latest first. */
export function Headlines(props: { chart: Chart; selected: Selected; asOf: string | null }) {
  const { chart, selected, asOf } = props;
  const { lines: all } = chart;
  const series = all.find(({ key }) => key === address.value.get('of')) ?? all[0]!;
  const { country, topic, match, key, title: name, states } = series;
  const [from, to] = [selected.from, selected.to].map((at) => new Date(at).toISOString()) as [string, string];
  const isIn = (index: number) => chart.starts[index]! < selected.to && chart.ends[index]! > selected.from;
  const asked = useTogether(
    {
      ...{ series: { country, topic, match }, from, to, asOf },
      title: selected.title,
      isLoaded: states.every((state, index) => !isIn(index) || isLoaded(state)),
      find: address.value.get('find') || null,
    },
    questionsOf,
  );
  // What is listed, which may still be that of another point.
  const about = asked.answer?.about;
  const heading = useId();
  return (
    <section class="headlines" aria-labelledby={heading}>
      <div class="row">
        <h2 id={heading}>
          Headlines of <Flowing text={about?.title ?? selected.title} />
        </h2>
        {all.length > 1 ? (
          <Select
            label="Of which line"
            value={key}
            values={all.map(({ key, title, behind }) => [
              key,
              selected.open === null ? title : `${title} (${number(behind[selected.open]!)})`,
            ])}
            onChange={(of) => go({ of }, 'replace')}
          />
        ) : (
          <span class="quiet">{name}</span>
        )}
        <Field
          label="Search these headlines"
          placeholder="Search"
          value={address.value.get('find') ?? ''}
          onEnter={(find) => void go({ find: find || null }, 'replace')}
        />
      </div>
      <Rules key={topic} topic={about?.series.topic ?? topic} />
      <Answered asked={asked} as={Listed} />
    </section>
  );
}

function Listed({ about, latest }: AnswersTo<typeof questionsOf>) {
  const { find } = about;
  const { rows } = latest;
  if (rows.length === 0)
    return (
      <p class="empty">
        {find !== null
          ? `No headline here has “${find}”.`
          : about.isLoaded
            ? 'There was no news here.'
            : 'Nothing is loaded here, so there may have been news.'}
      </p>
    );
  return (
    <>
      <div class="row">
        {rows.length === most && (
          <span class="quiet">The latest {most}: search, or choose a shorter time, to see others.</span>
        )}
        <Share of={latest} />
      </div>
      <Table
        label="Headlines"
        kind="news"
        rows={rows}
        // The same id may have been published twice.
        keyOf={({ published_at, headline_id }) => `${published_at} ${headline_id}`}
        sort="news"
        first={100}
        columns={columnsOf(rows, about)}
      />
    </>
  );
}

function Rules({ topic }: { topic: string }) {
  const rules = useAnswer('topics/rules', { topic }, 300).answer?.rows ?? [];
  return (
    <details>
      <summary>What the scores mean</summary>A score is the probability that a headline is positive minus the
      probability that it is negative, from −1 to +1. The topic’s share is the probability that it is about
      the topic.
      {rules.map(({ model, plus, rule }) => (
        <div key={model}>
          <b>{model}</b>, positive: {plus}.{rule && ` The service’s rule, which wins: ${rule}`}
        </div>
      ))}
    </details>
  );
}

function columnsOf(
  rows: readonly Headline[],
  about: { readonly series: SeriesKey; readonly asOf: string | null },
): Column<Headline>[] {
  // Part of the headlines in order would look like all of them.
  const sortable = (by: (row: Headline) => string | number | null) => (rows.length < most ? by : undefined);
  return [
    {
      title: zone.value,
      kind: 'time',
      by: sortable(({ published_at }) => published_at),
      show: ({ published_at }) => moment(published_at),
    },
    {
      title: 'headline',
      kind: 'text',
      show: (row) => (
        <>
          <HeadlineText {...row} text={row.headline} />{' '}
          <span class="quiet">
            {row.language && ` · ${row.language}`}
            {row.moved_from && ` · moved from ${moment(row.moved_from)}`}
            {row.retracted_at && ` · ${row.reason} ${moment(row.retracted_at)}`}
          </span>
          {row.earlier + row.later > 0 && <Versions row={row} series={about.series} asOf={about.asOf} />}
        </>
      ),
    },
    ...(['directional', 'semantic'] as const).map(
      (model): Column<Headline> => ({
        title: model,
        kind: 'number',
        by: sortable((row) => row[`${model}_score`]),
        show: (row) => <Signed value={row[`${model}_score`]} />,
      }),
    ),
    {
      title: 'topic',
      kind: 'number',
      hint: 'How probable it is that the headline is about the topic',
      by: sortable((row) => row.topic_probability),
      show: (row) => percent(row.topic_probability),
    },
  ];
}

type Headline = Row<'headlines'>;
type Version = Row<'headlines/versions'>;

/** Lists the versions of a headline once somebody wants to see them. */
function Versions(props: { row: Headline; series: SeriesKey; asOf: string | null }) {
  const { published_at, headline_id, earlier, later } = props.row;
  const { country, topic, match } = props.series;
  const [isOpen, setOpen] = useState(false);
  const of = { country, topic, match_type: match, published_at, headline_id };
  const asked = useTogether(isOpen ? { of, asOf: props.asOf } : undefined, versionsOf);
  const before = earlier > 0 && counted(earlier, 'earlier version');
  const since = later > 0 && `changed since: ${counted(later, 'later version')}`;
  return (
    <details class="small" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{[before, since].filter(Boolean).join(', ')}</summary>
      <Answered asked={asked} as={ListedVersions} />
    </details>
  );
}

function versionsOf({ of }: { readonly of: Parameters; readonly asOf: string | null }) {
  return { versions: question('headlines/versions', of) };
}

function ListedVersions({ about, versions }: AnswersTo<typeof versionsOf>) {
  const { rows } = versions;
  const at = about.asOf ?? '9999';
  const partsOf = (version: Version) => ({
    headline: version.headline ?? '–',
    directional: score(version.directional_score),
    semantic: score(version.semantic_score),
    topic: percent(version.topic_probability),
    retracted: version.retracted_at && moment(version.retracted_at),
  });
  return (
    <div class="marked small">
      <Table
        label="Versions"
        rows={rows}
        keyOf={({ known_from }) => known_from}
        isCurrent={({ known_from: from, known_to: to }) => from <= at && (to === null || to > at)}
        columns={[
          { title: 'known from', kind: 'time', show: ({ known_from }) => moment(known_from) },
          ...(['headline', 'directional', 'semantic', 'topic', 'retracted'] as const).map((title) => ({
            title,
            show: (version: Version, index: number) => {
              const part = partsOf(version)[title];
              return index > 0 && partsOf(rows[index - 1]!)[title] !== part ? <mark>{part}</mark> : part;
            },
          })),
          {
            title: 'became',
            show: ({ reason, retracted_at }) => reason ?? (retracted_at ? 'retracted' : 'stands'),
          },
        ]}
      />
      <Share of={versions} />
    </div>
  );
}

/** The text of a headline, as a link if the service sent a web address, and its source. */
export function HeadlineText(props: {
  text: string | null;
  url: string | null;
  source: string | null;
  retracted_at?: string | null;
}) {
  const { text, url, source, retracted_at } = props;
  const said = text ?? '(without a text)';
  const link = linkOf(url);
  const shown = link ? (
    <a href={link} target="_blank" rel="noopener noreferrer">
      {said}
    </a>
  ) : (
    said
  );
  return (
    <>
      <bdi>{retracted_at ? <s>{shown}</s> : shown}</bdi> <bdi class="quiet">{source}</bdi>
    </>
  );
}

/** Returns an address that is safe in a link, because the service's text could be anything. */
function linkOf(url: string | null): string | undefined {
  if (url === null || !URL.canParse(url)) return undefined;
  return ['http:', 'https:'].includes(new URL(url).protocol) ? url : undefined;
}
