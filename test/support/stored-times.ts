import pg from 'pg';

const { TIMESTAMPTZ } = pg.types.builtins;

/** A time that was read from a database, cut to the millisecond. */
class StoredTime extends Date {}

const isAsParameter = (value: unknown): boolean =>
  value instanceof StoredTime || (Array.isArray(value) && value.some(isAsParameter));

// Test files of one worker share modules, so this is done once.
const parse = pg.types.getTypeParser(TIMESTAMPTZ);
if (!(parse('2000-01-01 00:00:00+00') instanceof StoredTime)) {
  pg.types.setTypeParser(TIMESTAMPTZ, (text) => {
    const value: unknown = parse(text);
    return value instanceof Date ? new StoredTime(value) : value;
  });
  const send = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  pg.Client.prototype.query = function query(this: pg.Client, ...given: unknown[]) {
    const [config, values] = given as [{ readonly values?: unknown } | undefined, unknown];
    // It would differ from what is stored by less than a millisecond, and an equal time would not be found.
    if (isAsParameter(config?.values) || isAsParameter(values))
      throw new Error(
        'A time that was read as a Date goes back to the database; carry it as text (exactTime).',
      );
    return send.apply(this, given);
  } as typeof pg.Client.prototype.query;
}
