/** The page's own keys; a terminal and a text field keep theirs. */

import { useEffect } from 'react';

interface Shortcuts {
  readonly onPalette: () => void;
  readonly onTask: () => void;
  readonly onNew: () => void;
  readonly onTerminals: () => void;
  readonly onInbox: () => void;
  readonly onBoards: () => void;
  readonly onAdmin: () => void;
  readonly onFold: () => void;
}

/** Ctrl or Cmd with K opens the palette, H goes home to a new task, N opens its box over any page, T
 *  shows the terminals, I the inbox, D the dashboards, A the administration, B folds the rail,
 *  1 to 9 go to a row of it; / opens the palette, too. Off while `enabled` is false. */
export function useShortcuts(enabled: boolean, keys: Shortcuts): void {
  useEffect(() => {
    if (!enabled) return;
    const onKey = (event: KeyboardEvent): void => {
      if (inside(event.target, '.pane-screen')) return;
      const withCommand = event.ctrlKey || event.metaKey;
      if (withCommand && event.code === 'KeyK') {
        event.preventDefault();
        keys.onPalette();
        return;
      }
      const {
        onTask: h,
        onNew: n,
        onTerminals: t,
        onInbox: i,
        onBoards: d,
        onAdmin: a,
        onFold: b,
      } = keys;
      const act = { h, n, t, i, d, a, b, '/': keys.onPalette }[event.key] ?? rowOf(event.key);
      if (act === undefined || withCommand || event.altKey) return;
      if (inside(event.target, 'input, textarea, select, [contenteditable="true"]')) return;
      event.preventDefault();
      act();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}

/** The row of the rail that a digit goes to: the first nine have one. */
function rowOf(key: string): (() => void) | undefined {
  if (!/^[1-9]$/.test(key)) return undefined;
  const row = document.querySelectorAll<HTMLElement>('.rail .row')[Number(key) - 1];
  return row === undefined ? undefined : () => row.click();
}

function inside(target: EventTarget | null, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
