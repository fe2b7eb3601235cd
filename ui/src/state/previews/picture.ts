/** Pictures that the page in a preview sends: bytes of strangers, drawn anew before anybody has them. */

/** Bytes of a picture. */
const MAX_BYTES = 8_000_000;
/** The reporter draws two millions at most. */
const MAX_PIXELS = 2_100_000;
const HEAD_BYTES = 24;
/** The signature, and the first chunk's length and name. */
const HEAD = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];

/** A picture that is drawn: as a file, and for an image of this page. */
export interface DrawnPicture {
  readonly file: Blob;
  readonly url: string;
}

/** Whether it may be a PNG, of a size that can be drawn. Pure. */
export function isPicture(data: unknown): data is ArrayBuffer {
  if (!(data instanceof ArrayBuffer)) return false;
  if (data.byteLength < HEAD_BYTES || data.byteLength > MAX_BYTES) return false;
  const head = new DataView(data);
  if (!HEAD.every((byte, at) => head.getUint8(at) === byte)) return false;
  const [width, height] = [head.getUint32(16), head.getUint32(20)];
  return width > 0 && height > 0 && width * height <= MAX_PIXELS;
}

/** Draws it: nothing but its pixels remains. Rejects where the bytes are no picture. */
export async function draw(png: ArrayBuffer): Promise<DrawnPicture> {
  const image = await createImageBitmap(new Blob([png], { type: 'image/png' }));
  const canvas = document.createElement('canvas');
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d')?.drawImage(image, 0, 0);
  image.close();
  const file = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (file === null) throw new Error('the picture could not be drawn');
  return { file, url: canvas.toDataURL('image/png') };
}
