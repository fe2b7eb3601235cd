/** The part of the plane that a window shows: where it is and how large it is drawn. Pure. */

import type { Point } from '../document/geometry';
import type { Box } from '../document/items';

/** The plane's point at the window's left upper corner, and pixels for each unit. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

export interface Size {
  readonly w: number;
  readonly h: number;
}

export const LEAST_ZOOM = 0.05;
export const MOST_ZOOM = 4;
/** Below that, a terminal is a picture. */
export const FAR_ZOOM = 0.6;
const FIT_ROOM = 56;

export function clampZoom(zoom: number): number {
  return Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, zoom));
}

export function toPlane(view: Viewport, point: Point): Point {
  return { x: view.x + point.x / view.zoom, y: view.y + point.y / view.zoom };
}

export function toWindow(view: Viewport, point: Point): Point {
  return { x: (point.x - view.x) * view.zoom, y: (point.y - view.y) * view.zoom };
}

/** Moves what is shown by so many pixels. */
export function panned(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x + dx / view.zoom, y: view.y + dy / view.zoom };
}

/** Another zoom, at which the same point of the plane lies under the window's point. */
export function zoomedAt(view: Viewport, at: Point, zoom: number): Viewport {
  const next = clampZoom(zoom);
  const under = toPlane(view, at);
  return { x: under.x - at.x / next, y: under.y - at.y / next, zoom: next };
}

/** All of a box in the window, at most at `most`. */
export function fitted(box: Box, size: Size, most = 1): Viewport {
  const room = Math.min(FIT_ROOM, size.w / 8, size.h / 8);
  const wide = (size.w - 2 * room) / Math.max(1, box.w);
  const high = (size.h - 2 * room) / Math.max(1, box.h);
  return centred(box, size, clampZoom(Math.min(wide, high, most)));
}

/** The middle of a box in the middle of the window. */
export function centred(box: Box, size: Size, zoom: number): Viewport {
  return {
    x: box.x + box.w / 2 - size.w / 2 / zoom,
    y: box.y + box.h / 2 - size.h / 2 / zoom,
    zoom,
  };
}

/** What the window shows. */
export function shown(view: Viewport, size: Size): Box {
  return { x: view.x, y: view.y, w: size.w / view.zoom, h: size.h / view.zoom };
}

/** The least move after which a box is in the window, or as much of it as fits. */
export function revealed(view: Viewport, box: Box, size: Size): Viewport {
  const window = shown(view, size);
  const room = 16 / view.zoom;
  const by = (start: number, side: number, from: number, long: number): number => {
    if (start - room < from) return start - room - from;
    const over = start + side + room - (from + long);
    return over > 0 ? Math.min(over, start - room - from) : 0;
  };
  return {
    ...view,
    x: view.x + by(box.x, box.w, window.x, window.w),
    y: view.y + by(box.y, box.h, window.y, window.h),
  };
}

/** The next step of zooming by keys and buttons. */
export function zoomStep(zoom: number, direction: 1 | -1): number {
  const STEPS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4];
  const next =
    direction === 1
      ? STEPS.find((step) => step > zoom + 0.001)
      : STEPS.findLast((step) => step < zoom - 0.001);
  return clampZoom(next ?? zoom);
}
