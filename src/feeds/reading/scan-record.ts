import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  isDigit,
  isSpace,
  lowerF,
  lowerN,
  lowerT,
  minus,
  openBrace,
  openBracket,
  point,
  quote,
  zero,
} from '../../json-bytes.ts';
import type { SentRecords } from '../feed.ts';
import type { FieldTree } from './field-tree.ts';
import { deepestKept, holdableText } from './holdable-json.ts';
import { scanUuid, uuidBytes } from './identity.ts';
import type { RecordShape } from './read-record.ts';
import { microsecondsOf, readTime, scanTime } from './read-time.ts';
import type { RowsByColumn } from './rows-by-column.ts';

/** A field of the records that a plan is for. */
interface PlannedField {
  /** Its name as JSON, in UTF-8. */
  readonly name: Uint8Array;
  /** The same as what a member of an object after others begins with. */
  readonly member: Uint8Array;
  /** What its value fills; `extra` takes it as it is, with its name. */
  readonly fills: 'number' | 'text' | 'time' | 'id' | 'extra';
  readonly place: number;
}

/** Which fields records have, in which order, and what each of them fills. */
export type ScanPlan = readonly PlannedField[];

/**
 * A plan for records with these fields, in this order.
 * @returns undefined if reading them takes more: fields within fields, several for one column, no id of the record's own, a
 * name with escapes
 */
export function planScan(
  { columns, identity }: RecordShape,
  tree: FieldTree,
  names: readonly string[],
): ScanPlan | undefined {
  if ('of' in identity || identity.apart) return undefined;
  const places = Object.keys(columns);
  const plan: PlannedField[] = [];
  for (const name of names) {
    const field = tree.get(name);
    const column = field?.target?.column;
    if (field && !column) return undefined;
    const place = places.indexOf(column ?? 'extra');
    const fills = column === undefined ? 'extra' : fillOf(columns[column]!);
    if (fills !== 'extra' && plan.some((other) => other.place === place)) return undefined;
    const text = JSON.stringify(name);
    // In `extra`, names have no escapes that jsonb refuses.
    if (text.includes('\\')) return undefined;
    plan.push({ name: Buffer.from(text), member: Buffer.from(`,${text}:`), fills, place });
  }
  const isFilled = (column: string) => plan.some(({ place }) => place === places.indexOf(column));
  return isFilled(identity.id) && isFilled(identity.time) ? plan : undefined;
}

function fillOf(type: string): PlannedField['fills'] {
  if (type === 'double precision') return 'number';
  if (type === 'timestamptz') return 'time';
  return type === 'uuid' ? 'id' : 'text';
}

/**
 * Reads usual records straight from their bytes: those whose fields are in the order of a plan, each with a value that its
 * column takes as it is. That costs much less than parsing them and reading the objects (docs/benchmarks.md). All others are
 * left to that, so both must agree (test/feeds/scan-record.test.ts).
 */
export function createScanner(shape: RecordShape, rows: RowsByColumn) {
  const { required, differences, identity } = shape;
  const groups = required.map(({ anyOf }) => anyOf.map((column) => rows.placeOf(column)));
  const computed = differences.map(({ column, of: [from, take] }) => ({
    place: rows.placeOf(column),
    from: rows.placeOf(from),
    take: rows.placeOf(take),
  }));
  const extraPlace = rows.placeOf('extra');
  const keyPlaces = 'of' in identity ? [] : [rows.placeOf(identity.id), rows.placeOf(identity.time)];
  const id = new Uint8Array(uuidBytes);
  let bytes = nothing;
  let at = 0;

  /** Puts a record of the page into the next row. @returns false if it does not fit the plan */
  function scan(records: SentRecords, index: number, plan: ScanPlan): boolean {
    bytes = records.content;
    at = records.startOf(index);
    rows.beginRow();
    const fits = scanFields(plan, records.ends, records.firstMemberOf(index));
    // Not held beyond the record: a page may be large.
    bytes = nothing;
    if (!fits) return false;
    if (!keyPlaces.every(isThere) || !groups.every(hasOneOf)) return false;
    for (const { place, from, take } of computed) {
      if (!isThere(place))
        rows.putNumber(place, rows.numberAt(rows.length, from) - rows.numberAt(rows.length, take));
    }
    rows.completeRow();
    return true;
  }

  const isThere = (place: number) => !rows.isNull(rows.length, place);
  const hasOneOf = (group: readonly number[]) => group.some(isThere);

  function scanFields(plan: ScanPlan, ends: Int32Array, firstMember: number): boolean {
    if (bytes[at] !== openBrace) return false;
    at++;
    let next = 0;
    for (let member = firstMember; skipSpace() !== closeBrace; member++) {
      if (bytes[at] === comma) {
        at++;
        skipSpace();
      }
      // Records may lack fields.
      while (next < plan.length && !isNext(plan[next]!.name)) next++;
      const field = plan[next++];
      const noted = ends[member];
      if (!field || noted === undefined) return false;
      at += field.name.length;
      skipSpace();
      at++;
      skipSpace();
      const end = Math.abs(noted);
      if (!scanValue(field, end, noted < 0)) return false;
      at = end;
    }
    rows.putMembers(extraPlace);
    return true;
  }

  /** Puts the value from `at` to before `end`, as its column takes it. @returns false if that takes more */
  function scanValue({ fills, member, place }: PlannedField, end: number, hasEscapes: boolean): boolean {
    if (fills === 'extra') {
      const begins = at;
      if (hasEscapes || !isPlain(end)) return false;
      rows.addMember(member, begins, end);
      return true;
    }
    if (bytes[at] === lowerN) return true;
    if (fills === 'number') return scanNumber(place, end);
    if (bytes[at] !== quote) return false;
    const [begins, ends] = [at + 1, end - 1];
    if (begins === ends) return true;
    if (fills === 'text') {
      if (hasEscapes) rows.putText(place, holdableText(JSON.parse(bytes.toString('utf8', at, end))));
      else rows.putBytes(place, begins, ends);
      return true;
    }
    if (fills === 'time') {
      const time = scanTime(bytes, begins, ends) ?? readUnusualTime(begins, ends);
      if (time === undefined) return false;
      rows.putNumber(place, time);
      return true;
    }
    if (!scanUuid(bytes, begins, ends, id)) return false;
    rows.putId(place, id);
    return true;
  }

  function readUnusualTime(begins: number, ends: number): number | undefined {
    // Bytes beyond ASCII become letters that are in no time.
    const time = readTime(bytes.toString('latin1', begins, ends));
    return time === undefined ? undefined : microsecondsOf(time);
  }

  /** Numbers of so few digits are read exactly: both are integers of less than 2^53, and a division rounds correctly. */
  function scanNumber(place: number, end: number): boolean {
    const begins = at;
    const isNegative = bytes[at] === minus;
    if (isNegative) at++;
    let digits = 0;
    let decimals = 0;
    let whole = 0;
    for (; ; at++) {
      const digit = bytes[at]! - zero;
      if (digit >= 0 && digit <= 9) {
        whole = whole * 10 + digit;
        digits++;
        if (decimals > 0) decimals++;
      } else if (bytes[at] === point) decimals = 1;
      else break;
    }
    if (digits === 0) return false;
    if (digits > mostDigits || at < end) {
      whole = Number(bytes.toString('latin1', begins, end));
      if (!Number.isFinite(whole)) return false;
      rows.putNumber(place, whole);
      return true;
    }
    const value = decimals > 1 ? whole / powersOfTen[decimals - 1]! : whole;
    rows.putNumber(place, isNegative ? -value : value);
    return true;
  }

  /** Whether `jsonb` shows the value from `at` to before `end`, which has no escapes, as JSON.stringify writes it. */
  function isPlain(end: number): boolean {
    if (bytes[at] === quote) return true;
    let depth = 0;
    while (at < end) {
      const byte = skipSpace();
      if (byte === quote) at = bytes.indexOf(quote, at + 1) + 1;
      else if (byte === openBrace || byte === openBracket) {
        if (++depth >= deepestKept) return false;
        at++;
      } else if (byte === closeBrace || byte === closeBracket) {
        depth--;
        at++;
      } else if (byte === comma || byte === colon) at++;
      else if (!skipPlainToken()) return false;
    }
    return true;
  }

  function skipPlainToken(): boolean {
    const first = bytes[at]!;
    const begins = at;
    let hasPoint = false;
    for (; !isEndOfToken(bytes[at]!); at++) {
      if (bytes[at] === point) hasPoint = true;
      else if (isNumberBegin(first) && !isDigit(bytes[at]!) && (bytes[at] !== minus || at > begins))
        return false;
    }
    if (!isNumberBegin(first)) return first === lowerN || first === lowerT || first === lowerF;
    const isUsual = at - begins <= mostDigits && (first !== minus || bytes[begins + 1] !== zero || hasPoint);
    return isUsual && !(hasPoint && bytes[at - 1] === zero);
  }

  function skipSpace(): number {
    while (isSpace(bytes[at]!)) at++;
    return bytes[at]!;
  }

  function isNext(name: Uint8Array): boolean {
    for (let index = 0; index < name.length; index++) if (bytes[at + index] !== name[index]) return false;
    return true;
  }

  return { scan };
}

function isNumberBegin(byte: number): boolean {
  return byte === minus || isDigit(byte);
}

function isEndOfToken(byte: number): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

const nothing: Buffer = Buffer.alloc(0);

/** Digits of a number that a double holds exactly, and the powers of ten that it does. */
const mostDigits = 15;
const powersOfTen = Array.from({ length: mostDigits + 1 }, (_, power) => 10 ** power);
