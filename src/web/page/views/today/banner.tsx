import { Copied } from '../commands.tsx';
import type { Cause } from './causes.ts';

/** Shows what is wrong: cause, count, and the command that cures it with its cost. */
export function Banner({ causes }: { causes: readonly Cause[] }) {
  if (causes.length === 0) return null;
  return (
    <table class="banner apart">
      <caption class="hidden">What is wrong, and what to do about it</caption>
      <thead class="hidden">
        <tr>
          <th>what</th>
          <th>why</th>
          <th>command</th>
        </tr>
      </thead>
      <tbody>
        {causes.map(({ isFailure, what, why, where, command, cost }) => (
          <tr key={`${what} ${why} ${where}`} class={`marked ${isFailure ? 'failed' : 'refused'}`}>
            <th scope="row">{what}</th>
            <td class="anywhere">
              {why}
              {where && (
                <div class="quiet row tight">
                  {where.map((one) => (
                    <span key={one}>{one}</span>
                  ))}
                </div>
              )}
            </td>
            <td>{command && <Copied text={command} cost={cost} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
