function Bare(): void {
  // Nothing: it is its missing prototype that counts.
}
Bare.prototype = Object.create(null);

/**
 * Makes objects without Object.prototype, so that a key `__proto__` or `constructor` is a key like any other.
 * Object.create(null) does so too, but V8 keeps those as hash tables, which cost a sixth of reading a record.
 */
export const BareObject = Bare as unknown as new () => Record<string, unknown>;
