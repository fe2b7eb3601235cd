import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';

import { Sha256 } from './sha256';

it('agrees with the system for any length and cut', () => {
  for (let length = 0; length < 300; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + length) % 256);
    const ours = new Sha256();
    ours.update(bytes.subarray(0, length >> 1));
    ours.digest();
    ours.update(bytes.subarray(length >> 1));
    expect(ours.digest()).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});
