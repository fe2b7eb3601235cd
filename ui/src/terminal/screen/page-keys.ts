/** The keys a terminal leaves to the page: combinations that no program can see. Pure. */

export type PageKey =
  | 'escape'
  | 'search'
  | 'palette'
  | 'copy'
  | 'split right'
  | 'split down'
  | 'grid'
  | 'zoom'
  | 'terminals'
  | 'unlock'
  | 'left'
  | 'right'
  | 'up'
  | 'down';

/** With Ctrl and Shift, by the place of the key. */
const CHORDS: Readonly<Record<string, PageKey>> = {
  Period: 'escape',
  KeyF: 'search',
  KeyK: 'palette',
  KeyC: 'copy',
  KeyD: 'split right',
  KeyE: 'split down',
  KeyG: 'grid',
  Enter: 'zoom',
  KeyL: 'terminals',
  KeyY: 'unlock',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

type Pressed = Pick<KeyboardEvent, 'code' | 'ctrlKey' | 'shiftKey' | 'altKey' | 'metaKey'>;

export function pageKeyOf({ code, ctrlKey, shiftKey, altKey, metaKey }: Pressed): PageKey | null {
  if (metaKey && code === 'KeyK') return 'palette';
  if (!ctrlKey || !shiftKey || altKey) return null;
  return CHORDS[code] ?? null;
}
