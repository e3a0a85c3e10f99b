/** A map of a job file with camel-case names: `pageSize` for `page_size`. */
export type CamelCased<T> = {
  readonly [Name in keyof T as Camel<Name & string>]: T[Name] extends Readonly<Record<string, unknown>>
    ? CamelCased<T[Name]>
    : T[Name];
};

type Camel<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Name;

/** Changes the names of a map and of the maps in it; dates and other objects stay as they are. */
export function camelCased<T extends object>(map: T): CamelCased<T> {
  const entries = Object.entries(map).map(([name, value]) => [
    name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    value?.constructor === Object ? camelCased(value) : value,
  ]);
  return Object.fromEntries(entries);
}
