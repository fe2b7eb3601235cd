/** The way to the box for a task from anywhere: home, with the keyboard in its words. */

import { go } from '../../state/route';

export function beginTask(): void {
  go(null);
  // After home is drawn.
  window.setTimeout(() => document.querySelector<HTMLElement>('.composer textarea')?.focus());
}
