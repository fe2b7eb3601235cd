/** What is pasted and dropped on a terminal, on its way into it. */

import { plural, t } from '../../language/t';

/**
 * Removes control characters but tab and line breaks. Above all ESC: pasted text that
 * holds the end mark of a bracketed paste would go on as typed commands.
 */
export function cleanPaste(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are the subject
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}

/** Why part of what was typed or pasted went nowhere. */
export type Loss = 'unopened' | 'refused' | 'cut' | 'stuck';

/** What to say of it. */
export function lossWords(bytes: number, loss: Loss): string {
  const size = sizeWords(bytes);
  switch (loss) {
    case 'unopened':
      return t`The terminal could not be reached: ${size} was not typed.`;
    case 'refused':
      return t`The rest of the paste, ${size}, was not typed.`;
    case 'cut':
      return t`The connection was cut in the middle of a paste: up to ${size} of it was not typed.`;
    case 'stuck':
      return t`The program reads no input: ${size} was not typed.`;
  }
}

function sizeWords(bytes: number): string {
  if (bytes < 1024) return plural(bytes, { one: 'one byte', other: '# bytes' });
  const kib = bytes / 1024;
  return kib < 1024 ? t`${Math.ceil(kib)} KiB` : t`${(kib / 1024).toFixed(1)} MiB`;
}

interface Brought {
  readonly onFiles: (files: readonly File[]) => void;
  readonly onText: (text: string) => void;
}

/** Listens for what is pasted and dropped on a terminal; returns the way to stop. */
export function listenForBrought(host: HTMLElement, { onFiles, onText }: Brought): () => void {
  const onPaste = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) onFiles(files);
    else onText(event.clipboardData?.getData('text/plain') ?? '');
  };
  const onDrag = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files') !== true) return;
    event.preventDefault();
    if (event.type === 'drop') onFiles([...event.dataTransfer.files]);
  };
  // Before xterm's own handler, which pastes control characters as they are.
  host.addEventListener('paste', onPaste, true);
  host.addEventListener('dragover', onDrag);
  host.addEventListener('drop', onDrag);
  return () => {
    host.removeEventListener('paste', onPaste, true);
    host.removeEventListener('dragover', onDrag);
    host.removeEventListener('drop', onDrag);
  };
}
