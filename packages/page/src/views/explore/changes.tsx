import type { ComponentChildren } from 'preact';
import { type Answer, type AnswersTo, question, useAnswer, useTogether } from '../../api.ts';
import { counted, number, score } from '../../numbers.ts';
import { Answered, Flowing, Link, Problem, Signed, Titled } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { type Column, scored, Table } from '../../table.tsx';
import { moment } from '../../time.ts';
import { AsOf } from './as-of.tsx';
import { type Asked, newsOf } from './asked.ts';
import { HeadlineText } from './headlines.tsx';

type ChangeRow = Row<'sentiment/changes'>;

/** What was asked, with the names of what was chosen. */
export interface About extends Asked {
  /** Empty for all series. */
  readonly what: string;
  /** The names of countries by code. */
  readonly names: Readonly<Record<string, string | null | undefined>>;
  /** Whether there is little room. */
  readonly isBrief?: boolean;
}

function questionsOf({ countries, topics, from, to, against, model, matches, each, asOf }: About) {
  const lists = { country: countries, topic: topics, match_type: matches[0] };
  const move = { ...lists, from, to, against, model, as_of: asOf };
  const isChosen = countries.length > 0 && topics.length > 0;
  return {
    changes: question('sentiment/changes', { ...move, of: each }),
    stories: isChosen ? question('sentiment/changes/stories', move) : undefined,
  };
}

/** Shows what moved between two periods: a sentence, what changed most, and the stories behind it. */
export function Changes(about: About) {
  return <Answered asked={useTogether(about, questionsOf, 30)} as={Shown} />;
}

function Shown({ about, changes, stories }: AnswersTo<typeof questionsOf>) {
  const { from, to, each, names } = about;
  const [all, ...rows] = changes.rows;
  if (!all) return null;
  const span = {
    from: [all.before_from, from].toSorted()[0]!,
    to: [all.before_to, to].toSorted()[1]!,
  };
  const isTable = rows.length > 0 && !(rows.length === 1 && stories);
  return (
    <>
      <Moved all={all} about={about} beside={isTable && <Share of={changes} />} />
      <Rescorings key={`${span.from} ${span.to} ${about.asOf}`} {...span} asOf={about.asOf} />
      {isTable && (
        <>
          {!stories && <How />}
          <Table
            label="What changed"
            kind="news"
            rows={rows}
            columns={columnsOf(each, names).slice(0, about.isBrief ? 5 : undefined)}
            keyOf={(row) => `${row.country} ${row.topic}`}
            sort="sort"
            first={50}
          />
        </>
      )}
      {stories && all.change !== null && <Stories {...{ about, stories, all, span }} />}
      {!about.isBrief && <AsOf isLines={false} asOf={about.asOf} />}
    </>
  );
}

/** Says which loads met new scores of the days that are compared. */
function Rescorings({ from, to, asOf }: { from: string; to: string; asOf: string | null }) {
  const { answer, error } = useAnswer('loads/rescorings', { from, to, as_of: asOf }, 30);
  return (
    <>
      {error && <Problem error={error} />}
      {answer?.rows.map((load) => (
        <Rescored key={load.load_id} load={load} />
      ))}
    </>
  );
}

/** Says in one sentence how far the mean moved, and what is loaded of both periods. */
function Moved({ all, about, beside }: { all: ChangeRow; about: About; beside: ComponentChildren }) {
  const { what, from, to, model } = about;
  const { change, z, mean, mean_before, state, state_before, before_from, before_to } = all;
  const size = Math.abs(change ?? 0).toFixed(3);
  const moved =
    change === null
      ? 'cannot be compared'
      : isSmall(change)
        ? 'has hardly moved'
        : `${change > 0 ? 'rose' : 'fell'} by ${size}`;
  const part = (mean: number | null, count: number, from: string, to: string, state: string) => {
    const days = `in ${from} to ${to}`;
    if (state === 'not loaded') return `nothing is loaded ${days}`;
    const open = state === 'covered' ? '' : `, ${state}`;
    return count === 0
      ? `no news ${days}${open}`
      : `${score(mean)} ${days} (${counted(count, 'headline')}${open})`;
  };
  return (
    <Titled title={`${what || 'All series'}: sentiment ${moved}`} beside={beside}>
      <Flowing
        text={[
          `Mean ${model} score, from −1 to +1${newsOf(about)}: `,
          part(mean, all.headline_count, from, to, state),
          `, against ${part(mean_before, all.headline_count_before, before_from, before_to, state_before)}.`,
          z === null
            ? ''
            : ` z ${score(z, 1)}: ${Math.abs(z) < 2 ? 'within' : 'beyond'} the usual scatter of daily means.`,
        ].join('')}
      />
    </Titled>
  );
}

/** True if a change rounds to zero. */
function isSmall(change: number): boolean {
  return Math.abs(change) < 0.0005;
}

function columnsOf(each: About['each'], names: About['names']): Column<ChangeRow>[] {
  // The series of a country are its topics, those of a topic its countries.
  const into = ({ country, topic }: ChangeRow) => ({
    ...(country !== null && { country }),
    ...(topic !== null && { topic }),
    each: null,
  });
  const country: Column<ChangeRow> = {
    title: 'country',
    kind: 'text',
    show: (row) =>
      row.others === null ? (
        <Link to={into(row)}>{[row.country, names[row.country ?? '']].filter(Boolean).join(' ')}</Link>
      ) : (
        `${number(row.others)} others together`
      ),
    by: (row) => row.country,
  };
  const topic: Column<ChangeRow> = {
    title: 'topic',
    kind: 'text',
    show: (row) => row.topic !== null && <Link to={into(row)}>{row.topic}</Link>,
    by: (row) => row.topic,
  };
  return [
    ...(each === 'topic' ? [] : [country]),
    ...(each === 'country' ? [] : [topic]),
    {
      title: 'change',
      kind: 'number',
      by: ({ change }) => change,
      show: ({ change }) => <Signed value={change} />,
    },
    scored('z', ({ z }) => z, 1),
    scored('part of the move', ({ contribution }) => contribution),
    scored('mean', ({ mean }) => mean),
    scored('before', ({ mean_before }) => mean_before),
    { title: 'headlines', kind: 'number', by: ({ headline_count }) => headline_count },
    {
      title: 'loaded',
      kind: 'nowrap',
      by: ({ state }) => state,
      show: ({ state, state_before }) => (
        <>
          {state}
          {state_before !== 'covered' && <span class="quiet"> · before: {state_before}</span>}
        </>
      ),
    },
  ];
}

/** Says how numbers are made, to who wants to know. */
function How() {
  return (
    <details>
      <summary>How this is counted</summary>
      The part of the move: the share of all headlines times the distance of their mean from the earlier mean
      of all, for the later period minus the same for the earlier one. All parts add up to the move. z is the
      change in standard errors, from how daily means scatter; none for fewer than 7 days with headlines.
      Headlines that say the same are one story.
    </details>
  );
}

type Story = Row<'sentiment/changes/stories'>;

/** Shows the stories that moved the mean, in two lists: those that raised it, and those that lowered it. */
function Stories(props: {
  about: About;
  all: ChangeRow;
  stories: Answer<'sentiment/changes/stories'>;
  span: { from: string; to: string };
}) {
  const { about, all, stories, span } = props;
  const { rows } = stories;
  const { countries, topics, model, matches, what } = about;
  const others = rows.find(({ others }) => others !== null);
  const single = rows.filter((row) => row !== others);
  // The largest contribution is first.
  const sides = {
    'Raised the mean': single.filter(({ contribution }) => contribution > 0),
    'Lowered the mean': single.filter(({ contribution }) => contribution < 0).toReversed(),
  };
  const sum = rows.reduce((sum, { contribution }) => sum + contribution, 0);
  const line = { country: countries, topic: topics, model, match_type: matches, ...span };
  return (
    <section aria-label="Stories behind the move">
      <div class="row titled">
        <h2>Stories behind the move</h2>
        {!about.isBrief && <Link to={{ ...line, show: 'lines', at: null }}>{what} as a line</Link>}
        <Share of={stories} />
      </div>
      <p class="quiet">
        {others &&
          `${counted(others.others!, 'other story', 'other stories')} together ${score(others.contribution, 4)}; `}
        all stories together {score(sum, 4)}, the move.
      </p>
      <How />
      <div class="sides">
        {Object.entries(sides).map(([title, rows]) => (
          <div key={title}>
            <Table
              label={title}
              kind="news"
              rows={rows}
              columns={[{ title, kind: 'text', show: storyOf }, part(all.change)]}
              keyOf={(row) => `${row.last_at} ${row.headline}`}
              first={15}
            />
          </div>
        ))}
      </div>
    </section>
  );
}

/** The part of a story, and how much of the whole move that is. */
function part(change: number | null): Column<Story> {
  return {
    title: 'Part of the move',
    kind: 'number',
    show: ({ contribution }) => (
      <>
        {score(contribution, 4)}
        {change !== null && !isSmall(change) && (
          <span class="quiet small"> {score((100 * contribution) / change, 1)}%</span>
        )}
      </>
    ),
  };
}

function storyOf(row: Story) {
  const { last_at, headline_count, headline_count_before, mean, mean_before } = row;
  const times = (count: number, mean: number | null, when: string) =>
    count > 0 ? ` · ${when} ${number(count)} × ${score(mean, 2)}` : '';
  return (
    <>
      <HeadlineText {...row} text={row.headline} />
      <span class="quiet">
        <Flowing text={` · ${moment(last_at)}`} />
        {times(headline_count, mean, 'now')}
        {times(headline_count_before, mean_before, 'before')}
      </span>
    </>
  );
}

/** Says that scores have changed because the service scored headlines again. */
function Rescored({ load }: { load: Row<'loads/rescorings'> }) {
  const { first_published_at, last_published_at, old_model_version, new_model_version } = load;
  const [first, last] = [first_published_at, last_published_at].map((at) => at.slice(0, 10));
  const models =
    old_model_version === new_model_version
      ? ''
      : `, from model version ${old_model_version ?? 'not sent'} to ${new_model_version ?? 'not sent'}`;
  return (
    <p class="problem marked refused">
      <strong>New scores, not news: </strong>
      <Flowing
        text={[
          `the service rescored ${number(load.headlines)} of ${number(load.known_headlines)} headlines that load`,
          `${load.load_id} (${load.job || load.command}, ${moment(load.started_at)}) met again, published ${first}`,
          `to ${last}${models}. A change may compare scores of both.`,
        ].join(' ')}
      />{' '}
      <Link to={{ as_of: load.started_at }}>Compare as it was known before</Link>
    </p>
  );
}
