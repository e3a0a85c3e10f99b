import fc from 'fast-check';

/** Keys as services give them out, and odder ones: whatever a header can carry. */
export const aKey = fc.oneof(
  fc.stringMatching(/^[\x21-\x7e]{8,40}$/),
  fc.stringMatching(/^[/+=&<"'%\\;#uxA-F0-9]{8,24}$/),
  fc.stringMatching(/^[0-9a-f]{32}$/),
);

const hex = (char: string, digits: number) => char.charCodeAt(0).toString(16).padStart(digits, '0');
const names: Record<string, string> = {
  ...{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos', '/': 'sol', '+': 'plus', '=': 'equals' },
  ...{ '%': 'percnt', '\\': 'bsol', '.': 'period', ',': 'comma', '#': 'num', ';': 'semi', _: 'lowbar' },
};

/** How a character can be written so that some decoder gives it back. */
const forms: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => `\\u${hex(char, 4)}`,
  (char) => `\\u${hex(char, 4).toUpperCase()}`,
  (char) => `\\u{${hex(char, 2)}}`,
  (char) => `\\x${hex(char, 2)}`,
  (char) => (/[\p{L}\p{N}]/u.test(char) ? char : `\\${char}`),
  (char) => `%${hex(char, 2)}`,
  (char) => `%${hex(char, 2).toUpperCase()}`,
  (char) => `%u${hex(char, 4)}`,
  (char) => `&#${char.charCodeAt(0)};`,
  (char) => `&#000${char.charCodeAt(0)};`,
  (char) => `&#x${hex(char, 4)};`,
  (char) => `&#X${hex(char, 2).toUpperCase()};`,
  (char) => (names[char] ? `&${names[char]};` : char),
  (char) => (names[char] === 'amp' ? '&amp' : char),
];

/** A text of which each character is written in a form of its own, and each character of that form, again, `depth` deep. */
export function encoded(text: string, depth: number): fc.Arbitrary<string> {
  if (depth === 0) return fc.constant(text);
  const characters = [...text].map((char) => {
    const form = fc.nat({ max: forms.length - 1 }).map((index) => forms[index]!(char));
    return form.chain((written) => encoded(written, depth - 1));
  });
  return fc.tuple(...characters).map((written) => written.join(''));
}

/** The texts that one step of a decoder makes of a text. */
export function decodings(text: string): string[] {
  const point = (digits: string, base: number) => {
    const value = Number.parseInt(digits, base);
    return value <= 0x10ffff ? String.fromCodePoint(value) : '\ufffd';
  };
  const entity = (whole: string, x: string, digits: string) => point(digits, x ? 16 : 10) ?? whole;
  const byName = Object.entries(names).reduce(
    (so, [char, name]) => so.replace(new RegExp(`&${name};?`, 'g'), () => char),
    text,
  );
  return [
    text,
    text.replace(/\\u\{([\da-f]+)\}|\\u([\da-f]{4})|\\x([\da-f]{2})|\\([^\p{L}\p{N}])/giu, (_, a, b, c, d) =>
      d === undefined ? point(a ?? b ?? c, 16) : d,
    ),
    text.replace(/%u([\da-f]{4})|%([\da-f]{2})/gi, (_, a, b) => point(a ?? b, 16)),
    text.replace(/&#(x?)([\da-f]+);?/gi, entity),
    byName,
    text.replace(/\p{Cf}|\p{Cc}/gu, ''),
    ...(text.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []).map((word) =>
      Buffer.from(word, 'base64').toString('latin1'),
    ),
    ...(text.match(/(?:[0-9a-fA-F]{2}){8,}/g) ?? []).map((word) =>
      Buffer.from(word, 'hex').toString('latin1'),
    ),
  ];
}
