import { Copy } from '../parts.tsx';

/** Quotes a name for a shell. Removes control characters, which a terminal would obey; no job's name has any. */
export function quoted(job: string): string {
  const shown = job.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '');
  return /^[\w./@%+=:-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** A command, and a button that copies it. */
export function Copied({ text }: { text: string }) {
  return (
    <span class="copied">
      <code>{text}</code>
      <Copy text={text} label={`Copy ${text}`} />
    </span>
  );
}
