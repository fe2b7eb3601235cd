/** Items that are moved or sized just now, by this person or others: shown without the document. */

import { useEffect, type RefObject } from 'react';
import type { Peer } from '../presence/presence';
import type { Stage } from './stage';

export function useDrags(
  world: RefObject<HTMLDivElement | null>,
  stage: Stage,
  peers: readonly Peer[],
): void {
  useEffect(() => {
    const show = (): void => {
      const own = stage.drag.get();
      const drags = [...peers.map(({ drag }) => drag), own].filter((drag) => drag !== null);
      const offsets = new Map(
        drags.flatMap(({ ids, dx, dy }) => ids.map((id) => [id, { dx, dy }] as const)),
      );
      for (const element of world.current?.children ?? []) {
        if (!(element instanceof HTMLElement)) continue;
        const by = offsets.get(element.dataset['item'] ?? '');
        setOffset(element, by);
        element.classList.toggle(
          'item-dragged',
          own?.ids.includes(element.dataset['item'] ?? '') === true,
        );
      }
    };
    show();
    return stage.drag.subscribe(show);
  });

  useEffect(() => {
    let last: string | null = null;
    const show = (): void => {
      const id = stage.sizing.get()?.id ?? last;
      last = stage.sizing.get()?.id ?? null;
      if (id !== null) setBox(world.current, stage, id);
    };
    return stage.sizing.subscribe(show);
  }, [world, stage]);
}

/** The box that an item is being given, else its own. */
function setBox(world: HTMLElement | null, stage: Stage, id: string): void {
  const box = stage.sizing.get()?.box ?? stage.board.item(id);
  const element = world?.querySelector<HTMLElement>(`[data-item="${id}"]`) ?? null;
  if (box === null || element === null) return;
  for (const side of ['x', 'y', 'w', 'h'] as const)
    element.style.setProperty(`--${side}`, String(box[side]));
}

function setOffset(
  element: HTMLElement,
  by: { readonly dx: number; readonly dy: number } | undefined,
): void {
  if (by === undefined) {
    if (element.style.getPropertyValue('--dx') === '') return;
    element.style.removeProperty('--dx');
    element.style.removeProperty('--dy');
    return;
  }
  element.style.setProperty('--dx', String(by.dx));
  element.style.setProperty('--dy', String(by.dy));
}
