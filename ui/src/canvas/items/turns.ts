/**
 * Turns at drawing: panes that are to be drawn anew are so one after the other, one each frame.
 *
 * Drawing all of them in one frame would hold up the pointer for seconds.
 */

import { useEffect, useState } from 'react';

const waiting: (() => void)[] = [];
let asked = false;

/** Calls `act` in a frame that it has for itself; returns the way to give the turn up. */
export function takeTurn(act: () => void, first = false): () => void {
  if (first) waiting.unshift(act);
  else waiting.push(act);
  ask();
  return () => {
    const at = waiting.indexOf(act);
    if (at >= 0) waiting.splice(at, 1);
  };
}

function ask(): void {
  if (asked || waiting.length === 0) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    waiting.shift()?.();
    ask();
  });
}

/** The zoom that a pane is laid out for: that of the plane, once its turn has come; null before its
 *  first. Who has the keyboard is first. */
export function useTurn(zoom: number, first: boolean): number | null {
  const [own, setOwn] = useState<number | null>(null);
  useEffect(
    () => (own === zoom ? undefined : takeTurn(() => setOwn(zoom), first)),
    [own, zoom, first],
  );
  return own;
}
