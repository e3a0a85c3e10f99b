import type { Question } from '../../warehouse/questions/reading.ts';

/** The row type of a question, or of a function that returns one. */
export type Row<Asked> =
  Asked extends Question<infer Found>
    ? Found
    : Asked extends (...given: never[]) => Question<infer Found>
      ? Found
      : never;
