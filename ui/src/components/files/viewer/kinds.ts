/** What a file is, by its bytes first and its name second, and the size of an image. Pure. */

export type Kind = 'text' | 'markdown' | 'table' | 'image' | 'pdf' | 'binary';

/** Bytes that tell what a file is. */
export const LOOK_BYTES = 8192;

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));

/** The media type of an image that is shown; null for anything else, SVG among it: that is text. */
export function imageType(head: Uint8Array): string | null {
  if (ascii(head, 0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return 'image/jpeg';
  if (/^GIF8[79]a$/.test(ascii(head, 0, 6))) return 'image/gif';
  if (ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP') return 'image/webp';
  return null;
}

/** What a file is shown as. */
export function kindOf(path: string, head: Uint8Array): Kind {
  if (imageType(head) !== null) return 'image';
  if (ascii(head, 0, 5) === '%PDF-') return 'pdf';
  if (wideText(head) === null && head.subarray(0, LOOK_BYTES).includes(0)) return 'binary';
  if (/\.(?:md|markdown)$/i.test(path)) return 'markdown';
  return /\.(?:csv|tsv)$/i.test(path) ? 'table' : 'text';
}

/** The encoding of a text that begins with a mark of two bytes; null where it has none. */
export function wideText(head: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : null;
}

export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** More of them would take all of a phone's memory. */
export const PIXELS_MAX = 60_000_000;

/** The size that an image says it has; null where it does not say so in its first bytes. */
export function pixelsOf(bytes: Uint8Array): Pixels | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    switch (imageType(bytes)) {
      case 'image/png':
        return { width: view.getUint32(16), height: view.getUint32(20) };
      case 'image/gif':
        return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
      case 'image/webp':
        return webp(view, ascii(bytes, 12, 16));
      case 'image/jpeg':
        return jpeg(view);
      default:
        return null;
    }
  } catch {
    // It ends before it says so.
    return null;
  }
}

function webp(view: DataView, chunk: string): Pixels | null {
  const three = (at: number): number => view.getUint16(at, true) + (view.getUint8(at + 2) << 16);
  if (chunk === 'VP8X') return { width: three(24) + 1, height: three(27) + 1 };
  if (chunk === 'VP8 ') {
    const at = (place: number): number => view.getUint16(place, true) & 0x3fff;
    return { width: at(26), height: at(28) };
  }
  if (chunk !== 'VP8L') return null;
  const bits = view.getUint32(21, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
}

/** From marker to marker, to the one that begins a frame (ITU-T T.81, table B.1). */
function jpeg(view: DataView): Pixels | null {
  let at = 2;
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    }
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}
