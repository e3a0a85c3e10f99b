import type { ComponentChildren } from 'preact';
import { useAnswer } from '../../api.ts';
import type { SeriesPoints } from '../../draw/points.ts';
import { percent, score } from '../../numbers.ts';
import { Answered, Source } from '../../parts.tsx';
import type { Row } from '../../rows.ts';
import { Table } from '../../table.tsx';
import { moment } from '../../time.ts';

export type Headline = Row<'headlines'>;
type Version = Row<'headlines/versions'>;

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
  const of = { country, topic, match_type: match, published_at, headline_id };
  const asked = useAnswer('headlines/versions', of);
  return (
    <Answered asked={asked}>
      {({ rows }) => {
        const changed = (name: keyof Version, show: (version: Version) => ComponentChildren) => ({
          title: titles[name] ?? name,
          show: (version: Version, index: number) =>
            index > 0 && rows[index - 1]![name] !== version[name] ? (
              <mark>{show(version)}</mark>
            ) : (
              show(version)
            ),
        });
        return (
          <div class="marked small">
            <Table
              label="Versions"
              rows={rows}
              keyOf={({ known_from }) => known_from}
              isCurrent={(version) => isKnownAt(version, asOf)}
              columns={[
                { title: 'known from', kind: 'time', show: ({ known_from }) => moment(known_from) },
                changed('headline', ({ headline }) => headline ?? '–'),
                { ...changed('directional_score', (one) => score(one.directional_score)), kind: 'number' },
                { ...changed('semantic_score', (one) => score(one.semantic_score)), kind: 'number' },
                { ...changed('topic_probability', (one) => percent(one.topic_probability)), kind: 'number' },
                changed('retracted_at', ({ retracted_at }) => retracted_at && moment(retracted_at)),
                {
                  title: 'became',
                  show: ({ reason, retracted_at }) => reason ?? (retracted_at ? 'retracted' : 'stands'),
                },
              ]}
            />
            <Source of={asked} />
          </div>
        );
      }}
    </Answered>
  );
}

const titles: Partial<Record<keyof Version, string>> = {
  ...{ directional_score: 'directional', semantic_score: 'semantic' },
  ...{ topic_probability: 'topic', retracted_at: 'retracted' },
};

function isKnownAt({ known_from, known_to }: Version, asOf: string | null): boolean {
  if (asOf === null) return known_to === null;
  return known_from <= asOf && (known_to === null || known_to > asOf);
}
