/** A note is as high as its words need: who writes in it makes it grow. */

import { useEffect, useRef, type RefObject } from 'react';
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
  useEffect(() => {
    const words = part.current?.querySelector('.rich-host') ?? null;
    if (words === null || !writes || locked) return;
    const lacks = words.scrollHeight - words.clientHeight;
    if (lacks > 0) changeItems(stage.board, [id], { h: Math.round(h + lacks) });
  }, [stage, id, h, rev, writes, locked]);
  return part;
}
