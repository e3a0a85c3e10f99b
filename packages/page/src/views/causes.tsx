import { Flowing, Swatch } from '../parts.tsx';
import type { Row } from '../rows.ts';
import { Table } from '../table.tsx';
import { Copied, costOf } from './commands.tsx';

export function Causes({ causes }: { causes: readonly Row<'causes'>[] }) {
  if (causes.length === 0) return null;
  return (
    <Table
      label="What is wrong, and what to do about it"
      kind="causes"
      rows={causes}
      keyOf={({ code, job, what, why, about }) => `${code} ${job} ${what} ${why} ${about}`}
      columns={[
        {
          title: 'what is wrong',
          show: ({ severity, job, what, why, about }) => {
            const kind = severity === 'failing' || severity === 'stopped' ? 'failed' : 'refused';
            return (
              <div class="anywhere">
                <strong class={kind}>
                  <Swatch kind={kind} />
                  {job === null ? what : `${job}: ${what}`}
                </strong>
                <div>{why}</div>
                <div class="quiet">{about && <Flowing text={about} />}</div>
              </div>
            );
          },
        },
        {
          title: 'what to do',
          show: ({ before, command, requests }) => (
            <>
              {before && <div>{command ? `${before}, then:` : before}</div>}
              {command && <Copied text={`npx ${command}`} cost={costOf(requests)} />}
            </>
          ),
        },
      ]}
    />
  );
}
