import { useState } from 'preact/hooks';

/** As a shell takes it. */
export function quoted(job: string): string {
  return /^[\w./@%+=:-]+$/.test(job) ? job : `'${job.replaceAll("'", "'\\''")}'`;
}

/** A command, and a button that copies it. */
export function Copied({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <span class="copied">
      <code>{text}</code>
      <button
        type="button"
        aria-label={`Copy ${text}`}
        onClick={() =>
          void navigator.clipboard.writeText(text).then(() => {
            setCopied(true);
            setTimeout(() => setCopied(false), 2000);
          })
        }
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </span>
  );
}
