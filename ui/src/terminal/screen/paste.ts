/** Text on its way from the clipboard into a terminal. Pure. */

/**
 * Removes control characters but tab and line breaks. Above all ESC: pasted text that
 * holds the end mark of a bracketed paste would go on as typed commands.
 */
export function cleanPaste(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}

/** Why part of what was typed or pasted went nowhere. */
export type Loss = 'refused' | 'cut' | 'stuck';

/** What to say of it. */
export function lossWords(bytes: number, loss: Loss): string {
  const size = sizeWords(bytes);
  switch (loss) {
    case 'refused':
      return `The rest of the paste, ${size}, was not typed.`;
    case 'cut':
      return `The connection was cut in the middle of a paste: up to ${size} of it was not typed.`;
    case 'stuck':
      return `The program reads no input: ${size} was not typed.`;
  }
}

function sizeWords(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? 'one byte' : `${bytes} bytes`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${Math.ceil(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
