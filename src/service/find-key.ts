/** A place in a text: the index of its first character, and the index after its last. */
type Span = readonly [start: number, end: number];

/** A text to look for: for each position, the characters that may be there. */
type Needle = readonly string[];

/** A character that an encoding stands for, and the index after the encoding. */
type Reading = readonly [char: string, end: number];

/** How many times a text may be encoded. */
const deepest = 3;

/** The most possible escapes that are looked at in one text, which takes half a second. No honest text has as many. */
const mostLooks = 50_000;

/** A text has so many escapes within escapes that it would take seconds to look for the key in it. */
export class TooManyEscapes extends Error {}

export interface KeyFinder {
  /** @throws TooManyEscapes if it cannot tell */
  readonly find: (text: string) => Span[];
  /**
   * Whether the key may begin anywhere in a text, given its bytes in UTF-8. False for nearly all pages, which then need not be
   * decoded.
   */
  readonly mayBegin: (bytes: Buffer) => boolean;
}

/**
 * Finds every place of a text that holds a key, or the beginning of a key that was cut off: as it is; with any of its
 * characters escaped as in JSON, JavaScript, URLs or HTML, in any mixture and up to three times; with invisible characters
 * in between, which a terminal would not show; in base64 (of either alphabet, and within a longer text) or in hexadecimal
 * digits.
 */
export function keyFinder(key: string): KeyFinder {
  const needles = [[...key], ...base64Of(key), hexOf(key)];
  const firsts = [...new Set(needles.flatMap(([first = '']) => [...first]))];
  const startsWith = (interrupting: string) =>
    new RegExp(
      [
        ...needles.map((needle) => startOf(needle, interrupting)),
        ...escapesOf([...firsts, '\\', '%', '&']),
      ].join('|'),
      // Not with the flag u, which makes a search through a whole page take twice as long.
      'g',
    );
  const start = startsWith(`${anEscape}|${invisible}`);
  const startInBytes = startsWith(`${anEscape}|${invisibleInBytes}`);
  const isAscii = /^[ -~]*$/.test(key);

  const find = (text: string) => {
    const spans: Span[] = [];
    const { readingsAt } = reader(text);
    start.lastIndex = 0;
    for (let found = start.exec(text); found; found = start.exec(text)) {
      const at = found.index;
      const end = Math.max(...needles.map((needle) => endOf(needle, readingsAt, at)));
      if (end > at) spans.push([at, end]);
      start.lastIndex = Math.max(at + 1, end);
    }
    return spans;
  };

  const mayBegin = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += partBytes) {
      if (bytes.toString('latin1', at, at + partBytes + longestStart).search(startInBytes) !== -1)
        return true;
    }
    return false;
  };
  return { find, mayBegin: (bytes) => !isAscii || mayBegin(bytes) };
}

/** Bytes that are searched at a time. */
const partBytes = 32 * 1024;

/** No pattern of a start takes as many characters, so none is missed where a part ends. */
const longestStart = 64;

/**
 * Base64 encodes three bytes at a time, so a text within another one has three forms, whose edges depend on the text around
 * it.
 */
function base64Of(key: string): Needle[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(key)]);
    const whole = bytes
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
    return [...whole].map((char) => ({ '+': '+-', '/': '/_' })[char] ?? char);
  });
}

function hexOf(key: string): Needle {
  return [...Buffer.from(key).toString('hex')].map((char) => char + char.toUpperCase());
}

/**
 * Characters that a terminal would not show (Unicode's Cc and Cf) as UTF-16: of rare ones their first half, so some more. That
 * none is a printable one of ASCII is asked first, since it is far quicker than the ranges.
 */
const invisible =
  '(?![ -~])[\\0-\\x1f\\x7f-\\x9f\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e' +
  '\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb\\ud804\\ud80d\\ud82f\\ud834\\udb40]';

/** The same in the bytes of UTF-8, by what they begin with, so many more. */
const invisibleInBytes =
  '(?![ -~])(?:[\\0-\\x1f\\x7f\\xd8\\xdb\\xdc\\xe0\\xe1\\xef\\xf0\\xf3]|\\xc2[\\x80-\\x9f\\xad]|\\xe2[\\x80\\x81])';

/** An escape, except of the letters of most scripts, of which whole pages can consist. */
const anEscape =
  '(?!\\\\u(?:0[1-57-9a-fA-F]|[3-9a-eA-E])[\\da-fA-F]{2})\\\\|%(?=[\\da-fA-Fu\\\\%&])|&(?=[#\\w\\\\%&])';

/** A pattern for the first characters of a needle; from what interrupts them on, it allows anything. */
function startOf(needle: Needle, interrupting: string): string {
  const [first, ...next] = needle.slice(0, 8).map((chars) => `[${chars.replace(/[\]\\^-]/g, '\\$&')}]`);
  return first + next.reduceRight((rest, chars) => `(?:${interrupting}|${chars}${rest})`, '');
}

/**
 * Patterns for the escapes that may stand for one of these characters, or that contain an escape. Escaped backslashes are
 * skipped: what they escape is also found at the second one.
 */
function escapesOf(chars: readonly string[]): string[] {
  const codes = chars.map((char) => char.codePointAt(0)!);
  const hex = `(?:${codes.map((code) => code.toString(16).padStart(2, '0')).join('|')})`;
  const hexOfAnyCase = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const names = [...entities].filter(([, char]) => chars.includes(char)).map(([name]) => name);
  const within = '[\\\\%&]';
  const digit = '[\\dA-Fa-f]';
  return [
    `\\\\(?:u00${hexOfAnyCase}|x${hexOfAnyCase}|u\\{0{0,7}${hexOfAnyCase}\\}|(?:u${digit}{0,3}|u\\{${digit}{0,7}|x${digit}?)${within}|[%&]|\\\\[ux])`,
    `%(?:${hexOfAnyCase}|u00${hexOfAnyCase}|(?:u${digit}{0,3}|${digit}?)${within})`,
    `&(?:#0{0,11}(?:${codes.join('|')})|#[xX]0{0,11}${hexOfAnyCase}|#?\\w{0,24}${within}|${names.join('|')})`,
  ];
}

/** Entities for characters that a key may have, and for invisible ones (HTML, 13.5). */
const entities = new Map(
  Object.entries({
    ...{ '!': 'excl', '"': 'quot QUOT', '#': 'num', $: 'dollar', '%': 'percnt', '&': 'amp AMP', "'": 'apos' },
    ...{ '(': 'lpar', ')': 'rpar', '*': 'ast midast', '+': 'plus', ',': 'comma' },
    ...{ '.': 'period', '/': 'sol', ':': 'colon', ';': 'semi', '<': 'lt LT', '=': 'equals', '>': 'gt GT' },
    ...{ '?': 'quest', '@': 'commat', '[': 'lsqb lbrack', '\\': 'bsol', ']': 'rsqb rbrack', '^': 'Hat' },
    ...{ _: 'lowbar UnderBar', '`': 'grave DiacriticalGrave', '{': 'lcub lbrace' },
    ...{ '|': 'verbar vert VerticalLine', '}': 'rcub rbrace', '\u00ad': 'shy', '\u200b': 'ZeroWidthSpace' },
    ...{ '\u200c': 'zwnj', '\u200d': 'zwj', '\u2060': 'NoBreak', '\n': 'NewLine', '\t': 'Tab' },
  }).flatMap(([char, names]) => names.split(' ').map((name) => [name, char] as const)),
);
const longestName = Math.max(...[...entities.keys()].map((name) => name.length));

type ReadingsAt = (at: number, depth?: number) => readonly Reading[];

/** The end of a needle that begins at an index, or of a long enough part of one that was cut off; -1 if there is none. */
function endOf(needle: Needle, readingsAt: ReadingsAt, at: number): number {
  const enough = Math.max(12, Math.ceil(needle.length * 0.6));
  let reached = new Set([at]);
  for (const [index, chars] of needle.entries()) {
    const next = new Set<number>();
    // The set grows during the loop: an invisible character adds further places for the same position.
    for (const place of reached) {
      for (const [char, end] of readingsAt(place)) {
        if (chars.includes(char)) next.add(end);
        else if (index > 0 && invisibleOnly.test(char)) reached.add(end);
      }
    }
    if (next.size === 0) return index < enough ? -1 : Math.min(...reached);
    reached = next;
  }
  return Math.max(...reached);
}

const invisibleOnly = /^[\p{Cc}\p{Cf}]$/u;

/** Reads the characters of a text in every possible way, each index and depth once. */
function reader(text: string): { readonly readingsAt: ReadingsAt } {
  const known = new Map<number, readonly Reading[]>();
  let looks = 0;

  /** All possible readings at an index: the character itself, and what an escape that begins there stands for. */
  function readingsAt(at: number, depth = deepest): readonly Reading[] {
    const code = text.codePointAt(at);
    if (code === undefined) return [];
    if (depth === 0 || (code !== 0x5c && code !== 0x25 && code !== 0x26)) return [plainAt(at, code)];
    const place = at * (deepest + 1) + depth;
    const before = known.get(place);
    if (before) return before;
    if (++looks > mostLooks) throw new TooManyEscapes('The text has too many escapes within escapes.');
    const leads = readingsAt(at, depth - 1);
    const readings = new Map(leads.map((reading) => [reading.join(), reading]));
    for (const lead of leads) {
      for (const reading of escapesAfter(lead, depth - 1)) readings.set(reading.join(), reading);
    }
    const all = [...readings.values()];
    if (known.size > 10_000) known.clear();
    known.set(place, all);
    return all;
  }

  function plainAt(at: number, code: number): Reading {
    const char = String.fromCodePoint(code);
    return [char, at + char.length];
  }

  /** The readings of escapes that begin with `lead`. */
  function escapesAfter([lead, at]: Reading, depth: number): Reading[] {
    if (lead !== '\\' && lead !== '%' && lead !== '&') return [];
    const next = readingsAt(at, depth);
    const after = (char: string) => next.findLast((reading) => reading[0] === char)?.[1];
    if (lead === '%') return [...hex(at, 2, depth), ...hex(after('u'), 4, depth)];
    if (lead === '&') return entitiesAt(at, after('#'), depth);
    const u = after('u');
    const brace = u === undefined ? undefined : one(u, depth, /^\{$/)?.[1];
    return [
      ...hex(u, 4, depth),
      ...hex(after('x'), 2, depth),
      ...(brace === undefined ? [] : closed(numbers(brace, depth, 16, 8), depth, /^\}$/)),
      ...next.filter(([char]) => !/[\p{L}\p{N}]/u.test(char)),
    ];
  }

  function hex(from: number | undefined, digits: number, depth: number): Reading[] {
    const found = from === undefined ? [] : numbers(from, depth, 16, digits);
    return found.length === digits ? [found.at(-1)!] : [];
  }

  function entitiesAt(at: number, number: number | undefined, depth: number): Reading[] {
    const found: Reading[] = [];
    if (number !== undefined) {
      const x = one(number, depth, /^x$/i)?.[1];
      found.push(...numbers(number, depth, 10, 12));
      if (x !== undefined) found.push(...numbers(x, depth, 16, 12));
    }
    let name = '';
    let letter = one(at, depth, /^[A-Za-z]$/);
    while (letter && name.length < longestName) {
      name += letter[0];
      const char = entities.get(name);
      if (char) found.push([char, letter[1]]);
      letter = one(letter[1], depth, /^[A-Za-z]$/);
    }
    // The semicolon may be missing.
    return [...found, ...closed(found, depth, /^;$/)];
  }

  /** The readings that are closed by a character. */
  function closed(readings: readonly Reading[], depth: number, by: RegExp): Reading[] {
    return readings.flatMap(([char, at]): Reading[] => {
      const end = one(at, depth, by)?.[1];
      return end === undefined ? [] : [[char, end]];
    });
  }

  /** The characters whose numbers are the first digit, the first two digits, and so on. */
  function numbers(from: number, depth: number, base: 10 | 16, most: number): Reading[] {
    const digits = base === 10 ? /^\d$/ : /^[\dA-Fa-f]$/;
    const found: Reading[] = [];
    let value = 0;
    let digit = one(from, depth, digits);
    while (digit && found.length < most) {
      value = value * base + Number.parseInt(digit[0], base);
      found.push([value <= 0x10ffff ? String.fromCodePoint(value) : '', digit[1]]);
      digit = one(digit[1], depth, digits);
    }
    return found;
  }

  /** The longest reading as one of the wanted characters. */
  function one(at: number, depth: number, wanted: RegExp): Reading | undefined {
    let longest: Reading | undefined;
    for (const reading of readingsAt(at, depth)) {
      if (wanted.test(reading[0]) && !(longest && longest[1] >= reading[1])) longest = reading;
    }
    return longest;
  }

  return { readingsAt };
}
