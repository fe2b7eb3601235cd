/** A note and a todo are as high as their words need: who writes in one makes it grow. */

import { useLayoutEffect, useRef, type RefObject } from 'react';
import { changeItems } from '../document/acts';
import type { Item } from '../document/items';
import type { Stage } from '../view/stage';

/** Of the part that holds the words, drawn at its usual size. */
export function useGrowth(
  stage: Stage,
  { id, h, rev, locked }: Item,
  writes: boolean,
): RefObject<HTMLDivElement | null> {
  const part = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = part.current;
    if (element === null || !writes || locked) return;
    const { scrollHeight, clientHeight } = element;
    if (scrollHeight > clientHeight) {
      const edges = Math.ceil(h) - clientHeight;
      changeItems(stage.board, [id], { h: Math.round(scrollHeight + Math.max(0, edges)) });
    }
  }, [stage, id, h, rev, writes, locked]);
  return part;
}
