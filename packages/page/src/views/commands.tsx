import { counted } from '../numbers.ts';
import { Copy } from '../share.tsx';

/** A command with its cost, and a button that copies it: without control characters, which a terminal would obey. */
export function Copied({ text, cost }: { text: string; cost?: string | undefined }) {
  const shown = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '');
  return (
    <span class="row copied">
      <code>{shown}</code>
      <Copy text={shown} label={`Copy ${shown}`} />
      {cost && <span class="quiet">{cost}</span>}
    </span>
  );
}

/** Writes what a command costs. @param requests a forecast; `null` if it is not known */
export function costOf(requests: number | null | undefined): string {
  if (requests === null || requests === undefined) return 'cost not known';
  if (requests === 0) return 'no requests';
  return `about ${counted(requests, 'request')}`;
}

/** Says how to load the feed that two of the views show. */
export function NoHeadlines() {
  return (
    <p class="empty">
      No headlines are loaded yet. <code>npx gmsi plan &lt;job&gt;</code> says what loading a job costs, and{' '}
      <code>npx gmsi demo</code> tries it out with made-up ones: both without a request to the service.
    </p>
  );
}
