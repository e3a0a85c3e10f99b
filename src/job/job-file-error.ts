import { ConfigError } from '../errors.ts';
import type { FieldPath, FilePosition } from './job.ts';

/** One thing wrong with a job file. `message` says what was found, what was expected and what was likely meant. */
export interface JobFileProblem {
  readonly position: FilePosition;
  /** Empty where the file as a whole is meant. */
  readonly field: FieldPath;
  readonly message: string;
}

/** A job file that cannot be run; tells every problem at once, each with file, line, column and field. */
export class JobFileError extends ConfigError {
  readonly problems: readonly JobFileProblem[];

  constructor(path: string, problems: readonly JobFileProblem[]) {
    const inOrder = problems.toSorted(
      (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
    );
    super(
      inOrder.length === 1
        ? table(path, inOrder)
        : `${path} has ${inOrder.length} problems:\n${table(path, inOrder)}`,
      {
        hint: `Mend ${path} and run again.`,
      },
    );
    this.problems = inOrder;
  }
}

/** `countries[2]`, `budget.reserve` */
function fieldName(path: FieldPath): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');
}

function table(path: string, problems: readonly JobFileProblem[]): string {
  const rows = problems.map(({ position, field, message }) => ({
    place: `${path}:${position.line}:${position.column}`,
    field: fieldName(field),
    message,
  }));
  const placeWidth = Math.max(...rows.map(({ place }) => place.length));
  const fieldWidth = Math.max(...rows.map(({ field }) => field.length));
  return rows
    .map(({ place, field, message }) =>
      [place.padEnd(placeWidth), ...(fieldWidth === 0 ? [] : [field.padEnd(fieldWidth)]), message].join('  '),
    )
    .join('\n');
}
