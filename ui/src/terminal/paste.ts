/** Text on its way from the clipboard into a terminal. Pure. */

/**
 * Removes control characters but tab and line breaks. Above all ESC: pasted text that
 * holds the end mark of a bracketed paste would go on as typed commands.
 */
export function cleanPaste(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}
