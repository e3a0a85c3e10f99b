/** Scatters the bits of a 32-bit number. Different numbers stay different (murmur3's finaliser). */
export function scatter(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Combines two 32-bit numbers into one. */
export function mix(a: number, b: number): number {
  return scatter(Math.imul(a, 0x9e3779b1) ^ scatter(b + 0x7f4a7c15));
}

/** Returns a 32-bit hash of a text. Different salts give unrelated numbers. */
export function hashText(text: string, salt = 0): number {
  let hash = 0x811c9dc5 ^ scatter(salt);
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return scatter(hash);
}

/** Turns a 32-bit number into a share from 0 to below 1. */
export function asShare(value: number): number {
  return (value >>> 0) / 0x1_0000_0000;
}

/** A seeded generator (mulberry32): the same seed gives the same numbers on every machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Returns a number from 0 to below 1. */
  share(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return asShare(x ^ (x >>> 14));
  }

  /** Returns a number with mean 0 and deviation 1, within ±3.5. A sum of uniform numbers is close enough, and cheaper. */
  normal(): number {
    return (this.share() + this.share() + this.share() + this.share() - 2) * Math.sqrt(3);
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.share() * from.length)]!;
  }

  /** Returns a random count with the average `mean`. */
  poisson(mean: number): number {
    if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()));
    const floor = Math.exp(-mean);
    let count = 0;
    for (let product = this.share(); product > floor; product *= this.share()) count++;
    return count;
  }
}
