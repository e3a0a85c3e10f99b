import { titleOf } from '../../buckets.ts';
import { type Chart, isTrailing, meanAt, stateWords } from '../../draw/points.ts';
import { number, score } from '../../numbers.ts';
import { type Column, Table } from '../../table.tsx';

/** Lists the numbers of a chart, the latest first. */
export function Numbers({ chart }: { chart: Chart }) {
  return (
    <div class="numbers">
      <Table
        label="Numbers"
        rows={chart.starts.map((_, index) => index).toReversed()}
        keyOf={(index) => index}
        sort="numbers"
        first={100}
        columns={[
          {
            title: chart.by,
            kind: 'head',
            by: (index) => index,
            show: (index) => <span class="nowrap">{titleOf(chart.starts[index]!, chart.by)}</span>,
          },
          ...[...chart.lines, ...(chart.now?.lines ?? [])].flatMap((line) => {
            const title = `${line.series.title} ${line.model}${chart.now?.lines.includes(line) ? ' now' : ''}`;
            const hasBand = line.errors.some((error) => error !== null);
            const mean: Column<number> = {
              title,
              kind: 'number',
              by: (index) => meanAt(line, index),
              show: (index) => score(meanAt(line, index)),
            };
            const error: Column<number> = {
              title: `${title} ±`,
              kind: 'number',
              by: (index) => line.errors[index]!,
              show: (index) => line.errors[index]?.toFixed(3),
            };
            return hasBand ? [mean, error] : [mean];
          }),
          ...chart.series
            .filter(({ isDifference }) => !isDifference)
            .map(
              ({ title, behind, states: of }): Column<number> => ({
                title: `${title} ${chart.counted}s${isTrailing(chart, 0) ? ` in ${chart.smooth} days` : ''}`,
                kind: 'number',
                by: (index) => behind[index]!,
                show: (index) =>
                  `${number(behind[index]!)} ${of[index] === 'covered' ? '' : stateWords(of[index]!, chart)}`,
              }),
            ),
        ]}
      />
    </div>
  );
}
