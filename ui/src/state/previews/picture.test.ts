import { expect, test } from 'vitest';
import { isPicture } from './picture';
import { readMessage } from './reports';

/** The head of a PNG of this size, and as many bytes as it has. */
function png(width: number, height: number, bytes = 64): ArrayBuffer {
  const data = new DataView(new ArrayBuffer(bytes));
  const head = [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
  head.forEach((byte, at) => data.setUint8(at, byte));
  data.setUint32(16, width);
  data.setUint32(20, height);
  return data.buffer;
}

test('a picture is a PNG of a size that can be drawn', () => {
  expect(isPicture(png(300, 200))).toBe(true);
  expect(isPicture(png(2_000, 1_000))).toBe(true);
});

test.each([
  ['is none', null],
  ['is text', 'data:image/png;base64,'],
  ['is a view', new Uint8Array(64)],
  ['is short', new ArrayBuffer(23)],
  ['is another format', new ArrayBuffer(64)],
  ['has no width', png(0, 200)],
  ['unpacks to gigabytes', png(65_535, 65_535)],
  ['is as wide as numbers go', png(0xffff_ffff, 1)],
  ['is large', png(10, 10, 8_000_001)],
])('what %s is no picture', (_, data) => {
  expect(isPicture(data)).toBe(false);
  expect(readMessage({ atoll: 'preview', kind: 'picture', png: data })).toEqual({
    kind: 'picture',
    png: null,
  });
});
