import { titleOf } from '../../buckets.ts';
import { type Chart, isTrailing, meanAt, stateWords } from '../../draw/points.ts';
import { number } from '../../numbers.ts';
import { type Column, scored, Table } from '../../table.tsx';

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
          ...[...chart.lines, ...(chart.now?.lines ?? [])].map((line) =>
            scored<number>(
              `${line.title} ${chart.model}${chart.now?.lines.includes(line) ? ' now' : ''}`,
              (index) => meanAt(line, index),
            ),
          ),
          ...chart.lines.map(
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
