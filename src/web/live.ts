import { EventEmitter, on } from 'node:events';

/** Milliseconds between two looks at the warehouse. */
const every = 1_000;
/** Looks without news after which a stream gets a comment; otherwise the server would not notice that its reader has gone. */
const looksBetweenSigns = 15;

/**
 * Streams server-sent events: `state` at first and when the warehouse has changed, `lost` when it does not answer. Looks at the
 * warehouse once a second for all listeners together; never without listeners.
 */
export function liveStates(look: () => Promise<string>) {
  const news = new EventEmitter();
  // The server limits the number of streams.
  news.setMaxListeners(0);
  let listeners = 0;
  let timer: NodeJS.Timeout | undefined;
  /** The latest event; empty before the first look. */
  let latest = '';

  async function lookOnce(): Promise<void> {
    const text = await look().then(
      (state) => event('state', state),
      () => event('lost', 'The warehouse does not answer.'),
    );
    if (text !== latest) news.emit('news', text);
    latest = text;
  }

  function begin(): void {
    latest = '';
    let looks = 0;
    const again = async () => {
      await lookOnce();
      if (++looks % looksBetweenSigns === 0) news.emit('news', ':\n\n');
      if (listeners > 0) timer = setTimeout(again, every);
    };
    timer = setTimeout(again, 0);
  }

  return {
    get listeners() {
      return listeners;
    },
    /** Yields texts to send to a listener, until the signal. */
    async *listen(signal: AbortSignal): AsyncGenerator<string> {
      listeners += 1;
      if (listeners === 1) begin();
      try {
        yield 'retry: 3000\n\n';
        // Begun before the next yield, so that nothing is missed during it.
        const heard = on(news, 'news', { signal });
        if (latest !== '') yield latest;
        for await (const [text] of heard) yield text as string;
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        listeners -= 1;
        if (listeners === 0) clearTimeout(timer);
      }
    },
  };
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
