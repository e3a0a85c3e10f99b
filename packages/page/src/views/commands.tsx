import { counted } from '../numbers.ts';
import { Copy } from '../parts.tsx';

/** Quotes a name for a shell. Removes control characters, which a terminal would obey; no job's name has any. */
export function quoted(job: string): string {
  const shown = job.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '');
  return /^[\w./@%+=:-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** A command with its cost, and a button that copies it. */
export function Copied({ text, cost }: { text: string; cost?: string | undefined }) {
  return (
    <span class="row copied">
      <code>{text}</code>
      <Copy text={text} label={`Copy ${text}`} />
      {cost && <span class="quiet">{cost}</span>}
    </span>
  );
}

/** Writes what a command costs. @param requests a forecast; `null` if it is not known */
export function costOf(requests: number | null | undefined): string {
  if (requests === null || requests === undefined) return 'cost not known';
  return `about ${counted(requests, 'request')}`;
}

export const free = 'no requests';

/** Says how to load the feed that two of the views show. */
export function NoHeadlines() {
  return (
    <p class="empty">
      No headlines are loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says what loading a job costs, and{' '}
      <code>npx gmsi demo</code> tries it out with made-up ones: both without a request to the service.
    </p>
  );
}
