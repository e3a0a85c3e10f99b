import type { Story, storiesOf } from '../../../../warehouse/questions/headlines.ts';
import { type Parameters, useAnswer, type Wire } from '../../api.ts';
import { number, score } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
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
  const asked = useAnswer<Row<typeof storiesOf>>('headlines/stories', parameters);
  return (
    <Answered asked={asked} empty="No headline here has a score.">
      {({ rows, sql }) => (
        <>
          <p class="row quiet">
            <span>
              A contribution is the sum of a story's {model} scores, divided by all headlines. Stories are
              headlines that say the same.
            </span>
            <span class="grow" />
            <Source path="headlines/stories" parameters={parameters} sql={sql} />
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

function Side({ title, rows }: { title: string; rows: readonly Wire<Story>[] }) {
  return (
    <table class="news">
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">
            Contribution
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.last_at} ${row.headline}`}>
            <td class="text">
              <HeadlineText text={row.headline} url={row.url} />{' '}
              <span class="quiet">
                <bdi>{row.source}</bdi>
                {[
                  '',
                  moment(row.last_at),
                  row.headlines > 1 && `${number(row.headlines)} headlines`,
                  `directional ${score(row.directional)}, semantic ${score(row.semantic)}`,
                ]
                  .filter((part) => part !== false)
                  .join(' · ')}
              </span>
            </td>
            <td class="number">{score(row.contribution)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
