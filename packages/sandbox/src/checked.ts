import { z } from 'zod';

/**
 * Returns a function that checks what is given and fills in the defaults. It throws a RangeError that names the option and what
 * was expected. The compiler writes its types out, so that the types in the package need no zod.
 */
export function checked<T extends z.ZodType>(schema: T) {
  return (given: z.input<T>): z.output<T> => {
    const { data, error } = schema.safeParse(given);
    if (!error) return data as z.output<T>;
    const [{ path, message }] = error.issues as [z.core.$ZodIssue];
    throw new RangeError(`${z.core.toDotPath(path) || 'options'}: ${message}`, { cause: error });
  };
}
