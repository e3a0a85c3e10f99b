import { address, chosen, go } from '../../address.ts';
import { type Parameters, useAnswer } from '../../api.ts';
import { number, score } from '../../numbers.ts';
import {
  Answered,
  Controls,
  DayField,
  Flowing,
  Link,
  Noted,
  Problem,
  SignedBar,
  Switch,
  useTitle,
} from '../../parts.tsx';
import { daysOfFeeds, namesOf, type Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment, plusDays, today } from '../../time.ts';
import { NoHeadlines } from '../commands.tsx';
import { matches, oneModel } from '../sentiment/asked.ts';

const spans = { day: 'last day', week: 'last 7 days' };
const kinds = { series: 'series', country: 'countries', topic: 'topics' };

type ChangeRow = Row<'sentiment/changes'>;

/** Shows what changed in the last day or week, the most unusual first. */
export function Changes() {
  const feeds = useAnswer('feeds', {}, 30);
  const listed = useAnswer('series', {}, 60);
  const loaded = feeds.answer?.rows.filter(({ feed }) => feed === 'gmsi-headlines');
  const span = chosen('span', spans);
  const of = chosen('of', kinds);
  const model = chosen('model', oneModel);
  const match = chosen('match_type', matches);
  // The current day is not over.
  const { newest } = daysOfFeeds(loaded);
  const yesterday = plusDays(today(), -1);
  const to = address.value.get('to') ?? (newest && newest < yesterday ? newest : yesterday);
  useTitle('Changes', kinds[of], `${spans[span]} to ${to}`);
  const days = span === 'day' ? 1 : 7;
  const parameters: Parameters = { to, days, of, model, match_type: match };
  const asked = useAnswer('sentiment/changes', loaded && loaded.length > 0 ? parameters : undefined, 30);
  // The compared days: 90 before the last one, or 12 weeks before the last.
  const rescored = useAnswer('loads/rescorings', { from: plusDays(to, -90), to }, 30);
  const series = useAnswer(
    'sentiment/changes',
    of === 'series' || !asked.parameters ? undefined : { ...parameters, of: 'series' },
    30,
  );
  if (loaded?.length === 0) return <NoHeadlines />;
  const names = namesOf(listed.answer?.rows, 'country');
  const linkTo = ({ country, topic, z }: ChangeRow) => {
    // The series that moved a country or a topic most: as many as have a panel in one look.
    const moved = ({ mean, usual, headlines }: ChangeRow) => (mean - (usual ?? mean)) * headlines * (z ?? 1);
    const most = (series.answer?.rows ?? [])
      .filter((one) => one.country === country || one.topic === topic)
      .toSorted((a, b) => moved(b) - moved(a))
      .slice(0, 6);
    return {
      view: 'sentiment',
      show: 'lines',
      country: country ?? most.map((one) => one.country!),
      topic: topic ?? most.map((one) => one.topic!),
      model,
      match_type: match,
      as_of: null,
      of: null,
      list: 'stories',
      // The last point of a trailing mean is of the last 7 days, whatever day of the week it is.
      by: 'day',
      smooth: days === 7 ? '7' : null,
      at: to,
      from: plusDays(to, -97),
      to,
    };
  };
  const country: Column<ChangeRow> = {
    title: 'country',
    show: (row) => (
      <Link to={linkTo(row)}>{[row.country, names.get(row.country ?? '')].filter(Boolean).join(' ')}</Link>
    ),
    by: (row) => row.country,
  };
  const topic: Column<ChangeRow> = {
    title: 'topic',
    show: (row) => <Link to={linkTo(row)}>{row.topic}</Link>,
    by: (row) => row.topic,
  };
  const columns: Column<ChangeRow>[] = [
    ...(of === 'topic' ? [] : [country]),
    ...(of === 'country' ? [] : [topic]),
    {
      title: 'z',
      kind: 'number',
      by: ({ z }) => z,
      // The widest bar is a z of 4.
      show: ({ z }) => [score(z, 1), z !== null && <SignedBar key="bar" value={z / 4} />],
    },
    { title: 'mean', kind: 'number', show: ({ mean }) => score(mean), by: ({ mean }) => mean },
    { title: 'before', kind: 'number', show: ({ usual }) => score(usual), by: ({ usual }) => usual },
    { title: 'headlines', kind: 'number', by: ({ headlines }) => headlines },
    {
      title: 'loaded',
      by: ({ state }) => state,
      show: ({ state, usual_state }) => (
        <>
          {state}
          {usual_state !== 'covered' && <span class="quiet"> · before: {usual_state}</span>}
        </>
      ),
    },
  ];
  const past = span === 'day' ? '90 days' : '12 weeks';
  return (
    <>
      <Controls chosen={[spans[span], `to ${to}`, kinds[of], model, matches[match]]}>
        <div class="row asked">
          <Switch label="Period" name="span" value={span} values={spans} />
          <span>
            <span class="quiet">to </span>
            <DayField label="Last day" value={to} max={yesterday} onChange={(to) => go({ to })} />
          </span>
          <Switch label="Of" name="of" value={of} values={kinds} />
          <Switch label="Model" name="model" value={model} values={oneModel} />
          <Switch label="Which news counts" name="match_type" value={match} values={matches} />
        </div>
      </Controls>
      {rescored.error && <Problem error={rescored.error} />}
      {rescored.answer?.rows.map((load) => (
        <Rescored key={load.load_id} load={load} />
      ))}
      <Noted of={asked}>
        z is how many standard deviations the mean score lies from its mean in the {past} before. There is
        none if fewer than half of those had headlines. Loaded: covered, settling (it may still change) or
        partial (headlines may be missing).
      </Noted>
      <Answered asked={asked} empty={`No headline of the ${spans[span]} to ${to} is loaded.`}>
        {({ rows }) => (
          <Table
            label="What changed"
            kind="changes"
            rows={rows}
            columns={columns}
            keyOf={(row) => `${row.country} ${row.topic}`}
            sort="sort"
          />
        )}
      </Answered>
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
        text={`the service rescored ${number(load.headlines)} of ${number(load.known_headlines)} headlines that load ${load.load_id} (${load.job || load.command}, ${moment(load.started_at)}) met again, published ${first} to ${last}${models}. Changes against other days may come from that.`}
      />
    </p>
  );
}
