/** Commands of the page that is shown just now, which the palette offers before its own. */

import type { Command } from './Palette';
import { Store } from '../../state/store';

export const pageCommands = new Store<readonly Command[]>([]);
