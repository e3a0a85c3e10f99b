import { address } from '../../address.ts';
import { type Answering, type AnswersTo, question, useAnswer, useTogether } from '../../api.ts';
import { Spark } from '../../draw/spark.tsx';
import { completeTo } from '../../loader.ts';
import { counted, number, percent, score } from '../../numbers.ts';
import { Answered, Flowing, Link, Problems, Section, Signed, useTitle } from '../../parts.tsx';
import { report } from '../../report.ts';
import { daysOfFeeds, namesOf, type Row } from '../../rows.ts';
import { Share } from '../../share.tsx';
import { type Column, scored, Table } from '../../table.tsx';
import { aDay, isDay, moment, now, plusDays, today, zone } from '../../time.ts';
import { Causes } from '../causes.tsx';
import { NoHeadlines } from '../commands.tsx';
import { AsOfChip, UnknownMoment, useMoments } from '../explore/as-of.tsx';
import { asOfIn, feed } from '../explore/asked.ts';
import { HeadlineText } from '../explore/headlines.tsx';
import { World } from './world.tsx';

type Series = Row<'briefing'>;

/** Shows what moved in the last week, the world, what of the past was rewritten, and how complete all is. */
export function Briefing() {
  const feeds = useAnswer('feeds', {}, 30);
  const causes = useAnswer('causes', {}, 5, 60);
  const jobs = useAnswer('jobs', {}, 5, 60);
  const loaded = feeds.answer?.rows.filter((row) => row.feed === feed);
  const { newest } = daysOfFeeds(loaded);
  const named = useMoments() ?? [];
  const asked = address.value.get('to') ?? '';
  const asOf = report ? null : asOfIn(named);
  // The current day is not over.
  const last = plusDays(asOf?.slice(0, 10) ?? today(), -1);
  const to = isDay(asked) && !report ? asked : newest && newest < last ? newest : last;
  const briefing = useTogether(newest ? { to, asOf } : undefined, questionsOf, 30, 600);
  useTitle('Briefing', newest && to);
  return (
    <>
      <Problems of={[feeds, causes, jobs]} />
      {!report && <UnknownMoment />}
      <div class="row">
        {asOf === null && <Complete jobs={jobs} causes={causes} />}
        {!report && newest && (
          <span class="end screen">
            <AsOfChip asOf={asOf} />
          </span>
        )}
      </div>
      {loaded?.length === 0 && (
        <>
          <NoHeadlines />
          <Causes causes={causes.answer?.rows ?? []} />
        </>
      )}
      {loaded !== undefined && loaded.length > 0 && <Answered asked={briefing} as={Shown} />}
    </>
  );
}

function questionsOf({ to, asOf }: { readonly to: string; readonly asOf: string | null }) {
  return {
    briefing: question('briefing', { to, as_of: asOf }),
    rewritten: question('briefing/rewritten', { as_of: asOf }),
    listed: question('series', {}),
  };
}

type Found = AnswersTo<typeof questionsOf>;

function Shown(answer: Found) {
  return (
    <div class="sides">
      <Moved {...answer} />
      <div>
        <Rewritten {...answer} />
        <World rows={answer.briefing.rows} to={answer.about.to} />
      </div>
    </div>
  );
}

/** Says up to when all jobs are complete, and what is to do at what cost. */
function Complete(of: { jobs: Answering<'jobs'>; causes: Answering<'causes'> }) {
  const [jobs, causes] = [of.jobs.answer?.rows, of.causes.answer?.rows];
  if (!jobs || !causes) return null;
  const day = completeTo(jobs);
  const toDo = causes.filter(({ command, before }) => command ?? before);
  // Several causes may have one cure.
  const costs = new Map(toDo.map(({ command, requests }) => [command, requests ?? 0]));
  const cost = [...costs.values()].reduce((sum, one) => sum + one, 0);
  const complete = day ? `Complete to ${day}` : 'Not complete';
  const left =
    toDo.length === 0
      ? 'nothing to do'
      : `${number(toDo.length)} to do (${cost > 0 ? `about ${counted(cost, 'request')}` : 'no requests'})`;
  return (
    <p>
      <span class={`badge ${toDo.length > 0 ? 'refused' : ''}`}>
        <Flowing text={jobs.length === 0 ? 'There is no job yet' : complete} />
      </span>{' '}
      <Link to={{ view: 'pipeline', from: null, to: null }}>
        {jobs.length === 0 ? 'how to begin' : left} ›
      </Link>
    </p>
  );
}

function Moved({ about: { to, asOf }, briefing, listed }: Found) {
  const { rows } = briefing;
  const names = namesOf(listed.rows, 'country');
  const moves = rows.filter(({ stories }) => stories !== null);
  const all = rows.filter(({ z }) => Math.abs(z ?? 0) >= 2).length;
  const columns: Column<Series>[] = [
    {
      title: 'series',
      kind: 'head',
      show: ({ country, topic, state }) => (
        <>
          <Named to={{ view: 'explore', country, topic, to, from: '90d' }} title={names.get(country) ?? ''}>
            {country} {topic}
          </Named>
          {state !== 'covered' && <span class="quiet small"> {state}</span>}
        </>
      ),
    },
    {
      title: 'change',
      kind: 'number',
      show: ({ change }) => (
        <b>
          <Signed value={change} digits={2} />
        </b>
      ),
    },
    {
      title: '14 weeks',
      kind: 'nowrap',
      show: ({ weeks, mean, mean_before }) => (
        <Spark values={weeks!} label={`14 weeks: ${score(mean_before, 2)} before, ${score(mean, 2)} now`} />
      ),
    },
    scored('z', ({ z }) => z, 1),
    { title: 'news', kind: 'number', by: ({ headline_count }) => headline_count },
  ];
  return (
    <Section title="Moved" beside={<Share of={briefing} />}>
      <p class="quiet small">
        <Flowing
          text={`Seven days to ${to} against the 90 days before${
            asOf ? `, as it was known at ${moment(asOf)} ${zone.value}` : ''
          }; |z| ≥ 2, in standard errors, strongest first.`}
        />
      </p>
      {moves.length === 0 ? (
        <p class="empty">
          {rows.every(({ state }) => state === 'not loaded')
            ? 'Nothing of these days is loaded.'
            : 'Nothing moved beyond its usual scatter.'}
        </p>
      ) : (
        <Table
          label="Table of moves"
          kind="small"
          rows={moves}
          columns={columns}
          keyOf={({ country, topic }) => `${country} ${topic}`}
          detail={({ stories }) => <Stories stories={stories!} />}
        />
      )}
      {!report && all > moves.length && (
        <p>
          <Link to={{ view: 'explore', show: 'changes', from: null, to, country: null, topic: null }}>
            {number(all - moves.length)} further series with |z| ≥ 2: smaller moves, or little news ›
          </Link>
        </p>
      )}
    </Section>
  );
}

/** A link to another view, which a report does not have. */
function Named(props: Parameters<typeof Link>[0]) {
  return report ? props.children : <Link {...props} />;
}

/** Names the stories that contributed most to a move, with their shares of it. */
function Stories({ stories }: { stories: NonNullable<Series['stories']> }) {
  return (
    <ul class="small">
      {stories.map((story) => (
        <li key={`${story.headline} ${story.url}`} class="anywhere">
          {percent(story.share)} <HeadlineText {...story} text={story.headline} />
          {story.headline_count > 1 && <span class="quiet"> {number(story.headline_count)}×</span>}
          {story.headline_count === 0 && (
            <span class="quiet"> no longer, {number(story.headline_count_before)}× before</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Says what of the past was rewritten, and leads to then and now of the series with the most. */
function Rewritten({ about: { to, asOf }, rewritten }: Found) {
  const [all, ...series] = rewritten.rows;
  const { rescored, withdrawn, late } = all ?? { rescored: 0, withdrawn: 0, late: 0 };
  const before = new Date((asOf ? Date.parse(asOf) : now()) - aDay).toISOString();
  return (
    <Section title={asOf ? 'In the day before' : 'Since yesterday'}>
      <p>
        <b>{number(rescored)}</b> rescored · <b>{number(withdrawn)}</b> withdrawn · <b>{number(late)}</b> late{' '}
        <span class="quiet small">(published more than a day before they arrived)</span>
      </p>
      {!report && series.length > 0 && (
        <p class="row tight small">
          {series.slice(0, 5).map((one) => (
            <Link
              key={`${one.country} ${one.topic}`}
              to={{ view: 'explore', country: one.country, topic: one.topic, to, from: '90d', as_of: before }}
              title="Then and now"
            >
              {one.country} {one.topic} ({number(one.rescored + one.withdrawn + one.late)})
            </Link>
          ))}
        </p>
      )}
    </Section>
  );
}
