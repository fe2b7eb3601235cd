/**
 * A press acts on the button that it began on, wherever that lies by its end. A click goes to what
 * is there once it comes, which on a busy machine or beside what grows is another button, or none.
 */

import type { PointerEvent as ReactPointerEvent } from 'react';

interface Aim {
  readonly button: Element;
  readonly pointer: number;
  readonly at: DOMRect;
}

let aim: Aim | null = null;

/** Handlers of a button that decides something. Keys, and what clicks it from a script, click. */
export function onTap(act: () => void) {
  return {
    onPointerDown: (event: ReactPointerEvent<HTMLButtonElement>): void => {
      if (event.button !== 0 || !event.isPrimary) return;
      const button = event.currentTarget;
      button.setPointerCapture(event.pointerId);
      aim = { button, pointer: event.pointerId, at: button.getBoundingClientRect() };
    },
    onPointerUp: (event: ReactPointerEvent<HTMLButtonElement>): void => {
      const began = aim;
      aim = null;
      if (began?.button !== event.currentTarget || began.pointer !== event.pointerId) return;
      // Who leaves the button before the end thought better of it.
      if (!isWithin(began.at, event)) return;
      swallowClick();
      act();
    },
    onPointerCancel: (): void => {
      aim = null;
    },
    onClick: act,
  };
}

function isWithin(at: DOMRect, { clientX: x, clientY: y }: { clientX: number; clientY: number }) {
  return x >= at.left && x <= at.right && y >= at.top && y <= at.bottom;
}

/** Keeps the click that follows a press from what it would hit. Those of keys have no detail. */
function swallowClick(): void {
  const over = (): void => {
    window.removeEventListener('click', swallow, true);
    window.removeEventListener('pointerdown', over, true);
  };
  const swallow = (event: MouseEvent): void => {
    if (event.detail === 0) return;
    event.preventDefault();
    event.stopPropagation();
    over();
  };
  window.addEventListener('click', swallow, true);
  window.addEventListener('pointerdown', over, true);
}
