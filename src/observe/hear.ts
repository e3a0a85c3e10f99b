import type { Channel } from 'node:diagnostics_channel';

/** Subscribes to a channel. @returns a function that ends the subscription */
export function hear<Message>(
  channel: Pick<Channel, 'subscribe' | 'unsubscribe'>,
  heard: (message: Message) => void,
): () => void {
  const listener = (message: unknown) => heard(message as Message);
  channel.subscribe(listener);
  return () => void channel.unsubscribe(listener);
}
