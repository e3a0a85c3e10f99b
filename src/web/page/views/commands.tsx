import { Copy } from '../parts.tsx';

/** As a shell takes it. */
export function quoted(job: string): string {
  return /^[\w./@%+=:-]+$/.test(job) ? job : `'${job.replaceAll("'", "'\\''")}'`;
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
