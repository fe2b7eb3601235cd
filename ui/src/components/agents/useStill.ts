/**
 * Holds still what a finger is on: between its touch and the tap that this becomes nothing is drawn
 * anew, so a tap never lands on another button that moved there.
 */

import { useState } from 'react';
import { Store, useStore } from '../../state/store';

/**
 * A tap follows the end of a touch, but passes through another process: on a busy machine it takes
 * its time. A touch that becomes none, as one that scrolls, is cancelled at once.
 */
const TAP_MS = 1_000;
/** Whoever holds a finger down longer wants something else, such as a selection. */
const MOST_MS = 2_000;

/** Whether a finger or a button is down on a conversation. */
export const pressed = new Store(false);

let timer: number | undefined;

function releaseAfter(ms: number): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => pressed.set(false), ms);
}

function onDown({ target }: PointerEvent): void {
  if (!(target instanceof Element) || target.closest('.talk') === null) return;
  pressed.set(true);
  releaseAfter(MOST_MS);
}

const onUp = (): void => releaseAfter(TAP_MS);
/** The press is over and has done what it was for. */
export const release = (): void => releaseAfter(0);

window.addEventListener('pointerdown', onDown, true);
window.addEventListener('pointerup', onUp, true);
window.addEventListener('pointercancel', release, true);
// A timer, so after the handlers of what was clicked; a tap keeps its click from them.
window.addEventListener('click', release, true);

/** The newest value; while something is pressed, the one that is shown. */
export function useStill<T>(value: T): T {
  const still = useStore(pressed);
  const [shown, setShown] = useState(value);
  if (!still && !Object.is(shown, value)) setShown(value);
  return still ? shown : value;
}
