import type { Row } from '../feed.ts';
import type { FieldTree } from './read-fields.ts';
import { itself, type SentRecord } from './sent-record.ts';
import { storableJson } from './storable-json.ts';

/** Which column each field fills, of records with the same names. */
export interface Layout {
  readonly names: readonly string[];
  /** True once a load has noted its names. */
  isNoted: boolean;
  /**
   * Fills the columns of an empty row.
   * @returns the other fields as JSON, for `extra`; `undefined` if a value cannot be read, is nested, or has a rival for its column:
   * then `readFields` must read the record into another row
   */
  fill(record: SentRecord, row: Row): string | null | undefined;
}

/** Finds the column of each name once, so that a flat record costs no look-up of names, and no object of what is left. */
export function layoutOf(names: readonly string[], tree: FieldTree): Layout {
  const steps = names.map((name) => {
    const field = tree.get(name);
    const last = { value: undefined as unknown, jsonOf: itself, json: '' };
    return { isExtra: field === undefined, target: field?.target, name: storableJson(name), last };
  });
  return {
    names,
    isNoted: false,
    fill({ fields, values }, row) {
      let extra = '';
      // Not for…of: for each value, it would make an object.
      for (let at = 0; at < steps.length; at++) {
        const { isExtra, target, name, last } = steps[at]!;
        const value = values[at];
        if (isExtra) {
          if (value === undefined) return undefined;
          // Often it is the same as in the record before.
          if (value !== last.value || fields.jsonOf !== last.jsonOf) {
            last.json = storableJson(fields.jsonOf(value, at), 1);
            last.value = value;
            last.jsonOf = fields.jsonOf;
          }
          extra += `${extra === '' ? '{' : ','}${name}:${last.json}`;
        } else if (value !== null && value !== '') {
          // As in `readField`.
          const taken = value === 'NaN' ? undefined : target?.read(value);
          if (taken === undefined || row[target!.column] !== null) return undefined;
          row[target!.column] = taken;
        }
      }
      return extra === '' ? null : `${extra}}`;
    },
  };
}
