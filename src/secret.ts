import { inspect } from 'node:util';

/** A value that must not reach a log, an error or the database: printed in any way, it shows `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value; only for the header that carries it and for its hash. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** A key of the service. */
export class ApiKey extends Secret {
  /** The account whose keys share their budget and rate; without one, each key has its own. */
  readonly account: string | undefined;

  constructor(value: string, account?: string) {
    super(value);
    this.account = account;
  }
}
