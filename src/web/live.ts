import { EventEmitter, on } from 'node:events';

/** Milliseconds between two looks at the warehouse. */
const every = 1_000;
/** Looks without news after which a stream gets a comment; otherwise the server would not notice that its reader has gone. */
const looksBetweenSigns = 15;

/**
 * Streams server-sent events: `state` when the warehouse has changed, `lost` when it does not answer. Looks at the warehouse once a
 * second for all listeners together; never without listeners.
 */
export function liveStates(look: () => Promise<string>) {
  const news = new EventEmitter();
  // The server limits the number of streams.
  news.setMaxListeners(0);
  let listeners = 0;
  let timer: NodeJS.Timeout | undefined;

  async function lookOnce(last: { text: string }): Promise<void> {
    const text = await look().then(
      (state) => event('state', state),
      () => event('lost', 'The warehouse does not answer.'),
    );
    if (text !== last.text) news.emit('news', text);
    last.text = text;
  }

  function begin(): void {
    const last = { text: '' };
    let looks = 0;
    const again = async () => {
      await lookOnce(last);
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
        for await (const [text] of on(news, 'news', { signal })) yield text as string;
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
