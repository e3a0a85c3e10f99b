import { type Parameters, useAnswer } from '../../api.ts';
import { number, score } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { type Column, Table } from '../../table.tsx';
import { moment } from '../../time.ts';
import { HeadlineText } from './headline-text.tsx';

/** Shows the stories behind a mean, in two lists: those that raise it, and those that lower it. */
export function Stories({
  parameters,
  model,
}: {
  parameters: Parameters;
  model: 'directional' | 'semantic';
}) {
  const asked = useAnswer('headlines/stories', parameters);
  return (
    <Answered
      asked={asked}
      empty={parameters.find ? `No story here has “${parameters.find}”.` : 'No headline here has a score.'}
    >
      {({ rows }) => (
        <>
          <p class="row quiet">
            <span>
              A contribution is the sum of a story's {model} scores, divided by all headlines. Stories are
              headlines that say the same.
            </span>
            <Source of={asked} />
          </p>
          <div class="sides">
            <Side title="Raise the mean" rows={rows.filter(({ contribution }) => contribution > 0)} />
            <Side
              title="Lower the mean"
              rows={rows.filter(({ contribution }) => contribution < 0).toReversed()}
            />
          </div>
        </>
      )}
    </Answered>
  );
}

function Side({ title, rows }: { title: string; rows: readonly Row<'headlines/stories'>[] }) {
  const columns: Column<Row<'headlines/stories'>>[] = [
    {
      title,
      kind: 'text',
      show: (row) => (
        <>
          <HeadlineText text={row.headline} url={row.url} source={row.source} />
          <span class="quiet">
            {['', moment(row.last_at), row.headlines > 1 && `${number(row.headlines)} headlines`]
              .filter((part) => part !== false)
              .join(' · ')}
            {` · directional ${score(row.directional)}, semantic ${score(row.semantic)}`}
          </span>
        </>
      ),
    },
    { title: 'Contribution', kind: 'number', show: (row) => score(row.contribution) },
  ];
  return (
    <div>
      <Table
        label={title}
        kind="news"
        rows={rows}
        columns={columns}
        keyOf={(row) => `${row.last_at} ${row.headline}`}
        first={15}
      />
    </div>
  );
}
