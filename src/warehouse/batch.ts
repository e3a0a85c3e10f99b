import pg from 'pg';

/** A statement with the name by which a connection prepares it. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** Buffers are in the binary format, all others are text. */
  readonly parameters: readonly (Buffer | string | null)[];
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

// What pg converts parameters with, and what a query of its own does with answers; its types leave these out.
export const { prepareValue } = (
  pg as unknown as { utils: { prepareValue(value: unknown): Buffer | string | null } }
).utils;
const Query = pg.Query as unknown as new (
  config: pg.QueryConfig,
  callback: Callback,
) => {
  submit(connection: pg.Connection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: pg.Connection): void;
};

/**
 * Statements that are sent at once; the answer is the last one's. Once one has failed, the server skips the others, which it
 * would not if each was a query of its own (pg's `pipeline`): a statement whose transaction could not begin would be
 * committed by itself. Arrays are sent as they are: pg copies each parameter into a buffer that grows.
 */
export class Batch extends Query {
  readonly #statements: readonly NamedStatement[];
  readonly #prepared: Set<string>;
  readonly #message: readonly Buffer[];
  #completed = 0;

  /**
   * @param prepared names that the connection has prepared; gets those of the statements as they succeed
   * @param after a query to send at once, too: its answer comes to the connection's next query, `SentBefore`
   */
  constructor(
    statements: readonly NamedStatement[],
    prepared: Set<string>,
    callback: Callback,
    after?: string,
  ) {
    super({ text: statements.at(-1)!.text }, callback);
    this.#statements = statements;
    this.#prepared = prepared;
    this.#message = written(statements, prepared, after);
  }

  override submit({ stream }: pg.Connection): void {
    stream.cork();
    for (const part of this.#message) stream.write(part);
    stream.uncork();
  }

  override handleDataRow(message: unknown): void {
    if (this.#completed === this.#statements.length - 1) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    this.#prepared.add(this.#statements[this.#completed++]!.name);
    if (this.#completed === this.#statements.length) super.handleCommandComplete(message, connection);
  }
}

/** A query that was sent with the batch before it. */
export class SentBefore extends Query {
  override submit(): void {}
}

/** The messages of a batch. */
function written(
  statements: readonly NamedStatement[],
  prepared: ReadonlySet<string>,
  after?: string,
): Buffer[] {
  const ofAfter = after === undefined ? 0 : 10 + bytesACharacter * after.length;
  const writer = new MessageWriter(
    statements.reduce((size, statement) => size + mostBytes(statement, prepared), ofAfter),
  );
  for (const [index, { name, text, parameters }] of statements.entries()) {
    if (!prepared.has(name)) {
      // It is prepared already if it failed when it was run first.
      writer.message('C', () => writer.text(`S${name}\0`));
      writer.message('P', () => writer.text(`${name}\0${text}\0`).int16(0));
    }
    writer.message('B', () => {
      writer.text(`\0${name}\0`).int16(parameters.length);
      // What is answered is text, too.
      for (const value of parameters) writer.int16(Buffer.isBuffer(value) ? 1 : 0);
      writer.int16(parameters.length);
      for (const value of parameters) writer.parameter(value);
      writer.int16(0);
    });
    // Only rows of the last one are read.
    if (index === statements.length - 1) writer.message('D', () => writer.text('P\0'));
    writer.message('E', () => writer.text('\0').int32(0));
  }
  writer.message('S', () => {});
  if (after !== undefined) writer.message('Q', () => writer.text(`${after}\0`));
  return writer.end();
}

/** At most, in UTF-8, of a unit of UTF-16. */
const bytesACharacter = 3;

/** What the messages of a statement can take, without large parameters: a name is in three of them. */
function mostBytes({ name, text, parameters }: NamedStatement, prepared: ReadonlySet<string>): number {
  const ofText = prepared.has(name) ? 0 : text.length;
  let most = 64 + bytesACharacter * (3 * name.length + ofText);
  for (const value of parameters) most += 6 + (value && !isLarge(value) ? bytesACharacter * value.length : 0);
  return most;
}

/** Sent as it is; shorter ones are copied, so that the socket gets few parts. */
function isLarge(value: Buffer | string): boolean {
  return typeof value !== 'string' && value.length >= 4096;
}

/** Writes messages to the server: https://www.postgresql.org/docs/current/protocol-message-formats.html. */
class MessageWriter {
  readonly #bytes: Buffer;
  #at = 0;
  /** Until here, `#bytes` are in `#parts`. */
  #ended = 0;
  readonly #parts: Buffer[] = [];
  #largeBytes = 0;

  /** @param most how many bytes are written at most, without large buffers */
  constructor(most: number) {
    this.#bytes = Buffer.allocUnsafe(most);
  }

  /** A letter, the length of what follows with these four bytes, and that. */
  message(letter: string, content: () => void): void {
    this.text(letter);
    const begins = this.#at;
    const largeBefore = this.#largeBytes;
    this.int32(0);
    content();
    this.#bytes.writeInt32BE(this.#at - begins + this.#largeBytes - largeBefore, begins);
  }

  text(value: string): this {
    this.#at += this.#bytes.write(value, this.#at);
    return this;
  }

  int16(value: number): this {
    this.#at = this.#bytes.writeUInt16BE(value, this.#at);
    return this;
  }

  int32(value: number): this {
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
    return this;
  }

  parameter(value: Buffer | string | null): void {
    if (value === null) {
      this.int32(-1);
    } else if (typeof value === 'string') {
      const begins = this.#at;
      this.int32(0).text(value);
      this.#bytes.writeInt32BE(this.#at - begins - 4, begins);
    } else {
      this.int32(value.length);
      if (isLarge(value)) this.#sendAsItIs(value);
      else this.#at += value.copy(this.#bytes, this.#at);
    }
  }

  #sendAsItIs(value: Buffer): void {
    this.#parts.push(this.#bytes.subarray(this.#ended, this.#at), value);
    this.#ended = this.#at;
    this.#largeBytes += value.length;
  }

  /** @returns what was written, in parts */
  end(): Buffer[] {
    return [...this.#parts, this.#bytes.subarray(this.#ended, this.#at)];
  }
}
