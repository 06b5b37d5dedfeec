// Random values that can be had again: the seed is printed, and ZAFFRE_SEED chooses it.

import crypto from 'node:crypto';

export function seeded(name) {
  const seed = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
  console.log(`${name}: ZAFFRE_SEED=${seed}`);
  return new Random(seed);
}

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  // A number in [0, 1), by mulberry32.
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  // A whole number in [low, high].
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick(array) {
    return array[this.between(0, array.length - 1)];
  }

  // Bytes that depend on the seed alone, made by a fast cipher since megabytes are wanted.
  bytes(count) {
    const seed = Buffer.alloc(32);
    for (let i = 0; i < 32; i += 4) seed.writeUInt32LE(Math.floor(this.next() * 2 ** 32), i);
    const cipher = crypto.createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
    return cipher.update(Buffer.alloc(count));
  }
}
