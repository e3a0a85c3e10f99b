import { EventEmitter, on } from 'node:events';

/** How often the warehouse is looked at while somebody listens, in milliseconds. */
const every = 1_000;
/** A stream without any news gets a comment after so many looks: otherwise nobody would notice that its reader has gone. */
const looksBetweenSigns = 15;

/**
 * Streams of server-sent events: `state` whenever the warehouse has changed, and `lost` when it does not answer. It is looked at
 * once a second for all listeners together, and not at all without any.
 */
export function liveStates(look: () => Promise<string>) {
  const news = new EventEmitter();
  // They are counted below.
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
    /** Texts to send to a listener, until the signal. */
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
