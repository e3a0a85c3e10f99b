/** The bytes that JSON in UTF-8 is made of, besides its texts (RFC 8259). */
export const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const;
export const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a] as const;
export const [minus, plus, point, zero] = [0x2d, 0x2b, 0x2e, 0x30] as const;
/** What false, null and true begin with. */
export const [lowerF, lowerN, lowerT] = [0x66, 0x6e, 0x74] as const;

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= 0x39;
}
