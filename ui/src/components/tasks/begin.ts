/** The way to the box for a task at the top of home. */

import { go } from '../../state/route';
import { focusOn } from './composing';

export function beginTask(): void {
  go(null);
  // After home is drawn.
  window.setTimeout(() => {
    const words = document.querySelector<HTMLElement>('.home .composer textarea');
    if (words !== null) focusOn(words);
  });
}
