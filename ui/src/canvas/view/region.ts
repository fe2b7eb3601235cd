/** The part of the plane whose items are drawn: the window and some room around it. */

import { useSyncExternalStore } from 'react';
import { grown } from '../document/geometry';
import type { Box } from '../document/items';
import { Store } from '../../state/store';
import type { Stage } from './stage';

/** Drawn around the window, in parts of its larger side. */
const ROOM = 0.5;

function holdsBox(outer: Box, inner: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.w <= outer.x + outer.w &&
    inner.y + inner.h <= outer.y + outer.h
  );
}

const regions = new WeakMap<Stage, Store<Box>>();

/** Moves only when the window leaves it, or it is much too large: a pan draws nothing anew. */
function regionOf(stage: Stage): Store<Box> {
  const known = regions.get(stage);
  if (known !== undefined) return known;
  const make = (): Box => {
    const { window } = stage;
    return grown(window, Math.max(window.w, window.h) * ROOM);
  };
  const region = new Store<Box>(make());
  const look = (): void => {
    const now = region.get();
    const { window } = stage;
    if (!holdsBox(now, window) || now.w > window.w * 4) region.set(make());
  };
  stage.view.subscribe(look);
  stage.size.subscribe(look);
  regions.set(stage, region);
  return region;
}

export function useRegion(stage: Stage): Box {
  const region = regionOf(stage);
  return useSyncExternalStore(region.subscribe, region.get, region.get);
}
