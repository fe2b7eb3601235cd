/** Commands of the page that is shown just now, which the palette offers before its own. */

import type { Command } from './command';
import { Store } from '../../state/store';

export const pageCommands = new Store<readonly Command[]>([]);

/** How often the palette was asked for by a part of the page that has no way to open it. */
export const paletteAsked = new Store(0);

export function askForPalette(): void {
  paletteAsked.set((now) => now + 1);
}
