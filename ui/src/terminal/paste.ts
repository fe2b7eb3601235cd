/** Text on its way from the clipboard into a terminal. Pure. */

/**
 * Removes control characters but tab and line breaks. Above all ESC: pasted text that
 * holds the end mark of a bracketed paste would go on as typed commands.
 */
export function cleanPaste(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}

/** What to say when part of what was typed or pasted went nowhere. */
export function droppedWords(bytes: number, cut: boolean): string {
  const size = bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${mib(bytes)} MiB`;
  return cut
    ? `The connection was cut in the middle of a paste: up to ${size} of it was not typed.`
    : `The rest of the paste, ${size}, was not typed.`;
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
