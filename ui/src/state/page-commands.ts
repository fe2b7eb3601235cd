/** Commands of the page that is shown just now, which the palette offers before its own. */

import type { Command } from '../components/frame/Palette';
import { Store } from './store';

export const pageCommands = new Store<readonly Command[]>([]);
