import type { Channel } from 'node:diagnostics_channel';

/** Hears what is published on a channel. @returns what ends it */
export function hear<Message>(
  channel: Pick<Channel, 'subscribe' | 'unsubscribe'>,
  heard: (message: Message) => void,
): () => void {
  const listener = (message: unknown) => heard(message as Message);
  channel.subscribe(listener);
  return () => void channel.unsubscribe(listener);
}
