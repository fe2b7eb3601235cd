/** The page's own keys; a terminal and a text field keep theirs. */

import { useEffect } from 'react';

interface Shortcuts {
  readonly onPalette: () => void;
  readonly onNew: () => void;
}

/** Ctrl or Cmd with K opens the palette, N makes a sandbox. Off while `enabled` is false. */
export function useShortcuts(enabled: boolean, { onPalette, onNew }: Shortcuts): void {
  useEffect(() => {
    if (!enabled) return;
    const onKey = (event: KeyboardEvent): void => {
      if (inside(event.target, '.pane-screen')) return;
      const withCommand = event.ctrlKey || event.metaKey;
      if (withCommand && event.code === 'KeyK') {
        event.preventDefault();
        onPalette();
      } else if (event.key === 'n' && !withCommand && !event.altKey) {
        if (inside(event.target, 'input, textarea, select')) return;
        event.preventDefault();
        onNew();
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}

function inside(target: EventTarget | null, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
