// The two digests of the service: MD5, and the CRC64 of x-ms-content-crc64 (reflected polynomial
// 0x9A6C9329AC4BC9B5, all ones before and after, base64 of the little-endian bytes).

import crypto from 'node:crypto';

const POLYNOMIAL = 0x9a6c9329ac4bc9b5n;

const table = new BigUint64Array(256);
for (let i = 0; i < 256; i++) {
  let value = BigInt(i);
  for (let bit = 0; bit < 8; bit++) value = value & 1n ? (value >> 1n) ^ POLYNOMIAL : value >> 1n;
  table[i] = value;
}
const tableHigh = Uint32Array.from(table, (value) => Number(value >> 32n));
const tableLow = Uint32Array.from(table, (value) => Number(value & 0xffffffffn));

export function crc64(bytes) {
  let high = 0xffffffff;
  let low = 0xffffffff;
  for (const byte of Buffer.from(bytes)) {
    const index = (low ^ byte) & 0xff;
    low = (((low >>> 8) | (high << 24)) ^ tableLow[index]) >>> 0;
    high = ((high >>> 8) ^ tableHigh[index]) >>> 0;
  }
  const result = Buffer.alloc(8);
  result.writeUInt32LE((low ^ 0xffffffff) >>> 0, 0);
  result.writeUInt32LE((high ^ 0xffffffff) >>> 0, 4);
  return result.toString('base64');
}

export function md5(bytes) {
  return crypto.createHash('md5').update(bytes).digest('base64');
}
