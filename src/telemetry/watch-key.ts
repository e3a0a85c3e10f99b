import type { ClientEvent } from '../api/client.ts';

/** What the service's answers say about the API key. */
export interface KeyStanding {
  /** 401 or 403 if the service refuses the key; `undefined` if it takes it. */
  readonly refusedWith: number | undefined;
}

export interface KeyWatch {
  onClientEvent(event: ClientEvent): void;
  /** `undefined` until the service has answered for the first time. */
  readonly standing: KeyStanding | undefined;
}

/**
 * Watches whether the service takes the key. A refusal ends whatever uses the key, so it counts even if answers to requests
 * that were under way still come after it.
 */
export function watchKey(): KeyWatch {
  let standing: KeyStanding | undefined;
  return {
    onClientEvent(event) {
      if (event.type !== 'request' || standing?.refusedWith) return;
      const { status, outcome } = event;
      if (status === 401 || status === 403) standing = { refusedWith: status };
      else if (outcome === 'ok') standing = { refusedWith: undefined };
    },
    get standing() {
      return standing;
    },
  };
}
