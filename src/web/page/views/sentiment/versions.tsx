import type { headlinesOf, versionsOf } from '../../../../warehouse/questions/headlines.ts';
import { type Parameters, useAnswer, type Wire } from '../../api.ts';
import type { SeriesPoints } from '../../draw/points.ts';
import { percent, score } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { moment } from '../../time.ts';

export type Headline = Wire<Row<typeof headlinesOf>>;
type Version = Wire<Row<typeof versionsOf>>;

/** Shows all versions of a headline, with their changes marked. */
export function Versions({
  row: { published_at, headline_id },
  series: { country, topic, match },
  asOf,
}: {
  row: Headline;
  series: SeriesPoints;
  asOf: string | null;
}) {
  const parameters: Parameters = { country, topic, match_type: match, published_at, headline_id };
  const asked = useAnswer<Row<typeof versionsOf>>('headlines/versions', parameters);
  return (
    <Answered asked={asked}>
      {({ rows, sql }) => (
        <div class="versions">
          <table>
            <thead>
              <tr>
                <th scope="col">Known from</th>
                <th scope="col">Headline</th>
                <th scope="col" class="number">
                  Directional
                </th>
                <th scope="col" class="number">
                  Semantic
                </th>
                <th scope="col" class="number">
                  Topic
                </th>
                <th scope="col">Became</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((version, index) => (
                <Cells
                  key={version.known_from}
                  version={version}
                  before={rows[index - 1]}
                  isShown={isKnownAt(version, asOf)}
                />
              ))}
            </tbody>
          </table>
          <Source path="headlines/versions" parameters={parameters} sql={sql} />
        </div>
      )}
    </Answered>
  );
}

function Cells({
  version,
  before,
  isShown,
}: {
  version: Version;
  before: Version | undefined;
  isShown: boolean;
}) {
  const cell = (name: 'headline' | 'directional_score' | 'semantic_score' | 'topic_probability') => {
    const value = version[name];
    const text =
      typeof value !== 'number'
        ? (value ?? '–')
        : name === 'topic_probability'
          ? percent(value)
          : score(value);
    return before && before[name] !== value ? <mark>{text}</mark> : text;
  };
  return (
    <tr aria-current={isShown || undefined}>
      <td class="time">{moment(version.known_from)}</td>
      <td>
        {cell('headline')}
        {version.retracted_at && (
          <span class="quiet">
            {' · '}
            {before?.retracted_at ? 'retracted' : <mark>retracted {moment(version.retracted_at)}</mark>}
          </span>
        )}
      </td>
      <td class="number">{cell('directional_score')}</td>
      <td class="number">{cell('semantic_score')}</td>
      <td class="number">{cell('topic_probability')}</td>
      <td>{version.reason ?? (version.retracted_at ? 'retracted' : 'stands')}</td>
    </tr>
  );
}

function isKnownAt({ known_from, known_to }: Version, asOf: string | null): boolean {
  if (asOf === null) return known_to === null;
  return known_from <= asOf && (known_to === null || known_to > asOf);
}
