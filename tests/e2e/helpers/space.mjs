// What the data directory takes on the disk.

import fs from 'node:fs';
import path from 'node:path';

export function bytesOnDisk(directory) {
  let total = 0;
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    const full = path.join(directory, entry.name);
    try {
      total += entry.isDirectory() ? bytesOnDisk(full) : fs.statSync(full).blocks * 512;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error; // the server removes files of its own
    }
  }
  return total;
}
