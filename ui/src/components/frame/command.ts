/** A command of the palette. */

import type { IconName } from '../parts/icons';

export interface Command {
  readonly id: string;
  readonly words: string;
  /** A few words on the right: where it leads, its key. */
  readonly note?: string;
  readonly icon: IconName;
  readonly run: () => void;
}
