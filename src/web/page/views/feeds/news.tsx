import type { NewsKind } from '../../../../warehouse/questions/indices.ts';
import type { Bucket } from '../../../../warehouse/questions/sentiment.ts';
import { address, chosen, go } from '../../address.ts';
import { useAnswer } from '../../api.ts';
import { bucketTitle, endOf, startOf } from '../../buckets.ts';
import { score } from '../../numbers.ts';
import { Answered, Source, Switch } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { dayOf, moment } from '../../time.ts';
import { HeadlineText } from '../sentiment/headline-text.tsx';

const kinds = { all: 'all', event: 'events', headline: 'headlines', 'event headline': 'headlines of events' };
const limit = 1000;

const columns: Column<Row<'news'>>[] = [
  { title: 'time', kind: 'time', show: ({ at }) => moment(at), by: ({ at }) => at },
  { title: 'kind', kind: 'nowrap', by: ({ kind }) => kind },
  {
    title: 'text',
    kind: 'text',
    show: ({ text, url, source }) => <HeadlineText {...{ text, url, source }} />,
  },
  { title: 'topic', by: ({ topic }) => topic },
  { title: 'impact', by: ({ impact }) => impact },
  {
    title: 'score',
    kind: 'number',
    show: (row) => (row.score === null ? '' : score(row.score)),
    by: (row) => row.score,
  },
];

/** Lists events and headlines of an asset, or macro headlines of a country: of a period, or of the bucket that is open in the chart. */
export function News({
  subject,
  days,
  by,
  usually,
}: {
  subject: string;
  days: { readonly from: string; readonly to: string };
  by: Bucket;
  /** What is listed if the address does not say. */
  usually: NewsKind | 'all';
}) {
  const isMacro = usually === 'macro headline';
  const kind = isMacro ? usually : chosen('kind', kinds, usually);
  const at = address.value.get('at')?.slice(0, 10) ?? '';
  const isOpen = !Number.isNaN(Date.parse(at));
  const unit = by === 'hour' ? 'day' : by;
  const first = isOpen ? startOf(at, unit) : days.from;
  const last = isOpen ? dayOf(endOf(Date.parse(first), unit) - 1) : days.to;
  const named = kind === 'all' ? null : kind;
  const asked = useAnswer('news', { subject, kind: named, from: first, to: last, limit });
  return (
    <section class="headlines panel" aria-label={`News of ${subject}`}>
      <div class="row">
        <h2>
          News of {subject}
          {isOpen && ` of ${bucketTitle(first, unit)}`}
        </h2>
        {kind !== 'macro headline' && <Switch label="Kind" name="kind" value={kind} values={kinds} />}
        <Source of={asked} />
        {isOpen && (
          <button type="button" onClick={() => go({ at: null, of: null })}>
            Whole period
          </button>
        )}
      </div>
      <Answered
        asked={asked}
        empty={
          <>
            No news of {subject} is loaded from {first} to {last}.{' '}
            {isMacro ? (
              <>
                <code>jobs/macro-headlines.yaml</code> loads it.
              </>
            ) : (
              <>
                <code>jobs/ticker-events.yaml</code>, <code>jobs/ticker-headlines.yaml</code> and{' '}
                <code>jobs/ticker-event-headlines.yaml</code> load it.
              </>
            )}
          </>
        }
      >
        {({ rows }) => (
          <>
            {rows.length === limit && <p class="quiet">The latest 1,000. Choose fewer days to see others.</p>}
            <Table
              label="News"
              kind="news"
              rows={rows}
              columns={columns}
              keyOf={(row) => `${row.kind} ${row.at} ${row.text} ${row.source} ${row.topic}`}
              sort="news"
              first={50}
            />
          </>
        )}
      </Answered>
    </section>
  );
}
