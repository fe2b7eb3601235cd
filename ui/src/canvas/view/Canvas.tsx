/** The plane of a dashboard: its items, drawn where the window looks, and all that is done there. */

import { Suspense, useEffect, useMemo, useRef, type RefObject } from 'react';
import { t } from '../../language/t';
import { useStore } from '../../state/store';
import { overlap } from '../document/geometry';
import type { Item } from '../document/items';
import { PictureTaker } from '../pictures/PictureTaker';
import { Cursors } from '../presence/Cursors';
import type { Peer } from '../presence/presence';
import type { Person } from '../sync/wire';
import { useDrags } from './drags';
import { useDroppedFiles } from './files';
import { useInput } from './input';
import { ItemView } from './ItemView';
import { Connectors } from '../items/Connectors';
import { Marks } from './Marks';
import type { Way } from './hanging';
import type { Stage } from './stage';
import type { Places } from './commands';
import { useRegion } from './region';

interface CanvasProps {
  readonly stage: Stage;
  readonly places: Places;
  readonly peers: readonly Peer[];
  readonly people: readonly Person[];
  /** Open comments by item. */
  readonly comments: ReadonlyMap<string, number>;
  readonly onGive: ((item: Item) => void) | null;
  readonly onWay: (item: Item, way: Way) => void;
  readonly onRenew: ((item: Item) => void) | null;
}

/** After that long without a move, the plane is painted as everything else is. */
const STILL_MS = 400;
const NOBODY: readonly Peer[] = [];

export function Canvas(props: CanvasProps) {
  const { stage, places, peers, people, comments, onGive, onWay, onRenew } = props;
  const root = useRef<HTMLDivElement>(null);
  const world = useRef<HTMLDivElement>(null);
  const items = useStore(stage.board.list);
  const chosen = useStore(stage.chosen);
  const inside = useStore(stage.inside);
  const focused = useStore(stage.focused);
  const region = useRegion(stage);
  const picked = useMemo(() => new Set(chosen), [chosen]);
  const visitors = useMemo(() => byItem(peers), [peers]);
  useSize(root, stage);
  useWorld(root, world, stage);
  useInput(root, places);
  useDroppedFiles(root, stage);
  useDrags(world, stage, peers);
  useFocus(root, stage);

  const shown = items.filter(
    (item) => overlap(item, region) || picked.has(item.id) || item.id === inside,
  );
  return (
    <div
      ref={root}
      className="canvas"
      role="application"
      aria-label={t`Canvas. Press question mark for its keys.`}
      tabIndex={focused === null ? 0 : -1}
    >
      <div ref={world} className="world">
        <Connectors stage={stage} />
        {shown.map((item) => (
          <ItemView
            key={item.id}
            stage={stage}
            item={item}
            chosen={picked.has(item.id)}
            inside={item.id === inside}
            reached={item.id === focused}
            people={people}
            visitors={visitors.get(item.id) ?? NOBODY}
            comments={comments.get(item.id) ?? 0}
            onGive={onGive}
            onWay={onWay}
            onRenew={onRenew}
          />
        ))}
      </div>
      <Marks stage={stage} peers={peers} />
      <Cursors stage={stage} peers={peers} />
      <Suspense>
        <PictureTaker />
      </Suspense>
    </div>
  );
}

function byItem(peers: readonly Peer[]): ReadonlyMap<string, readonly Peer[]> {
  const found = new Map<string, readonly Peer[]>();
  for (const peer of peers)
    if (peer.inside !== null) found.set(peer.inside, [...(found.get(peer.inside) ?? []), peer]);
  return found;
}

/** Keeps the size of the window on the plane. */
function useSize(root: RefObject<HTMLDivElement | null>, stage: Stage): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const measure = (): void =>
      stage.size.set({ w: element.clientWidth || 1, h: element.clientHeight || 1 });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [root, stage]);
}

/**
 * Puts the plane where the view is. Everything is laid out for the zoom at rest; while one zooms
 * it is only scaled, and at rest nothing is: letters are sharp, and a terminal's mouse is right.
 */
function useWorld(
  root: RefObject<HTMLDivElement | null>,
  world: RefObject<HTMLDivElement | null>,
  stage: Stage,
): void {
  useEffect(() => {
    let still: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => drawWorld(root.current, world.current, stage);
    const glide = (): void => {
      world.current?.classList.add('world-gliding');
      clearTimeout(still);
      still = setTimeout(() => world.current?.classList.remove('world-gliding'), STILL_MS);
      draw();
    };
    draw();
    const stops = [stage.view.subscribe(glide), stage.rest.subscribe(draw)];
    return () => {
      clearTimeout(still);
      stops.forEach((stop) => stop());
    };
  }, [root, world, stage]);
}

function drawWorld(ground: HTMLElement | null, plane: HTMLElement | null, stage: Stage): void {
  if (plane === null || ground === null) return;
  const [view, rest] = [stage.view.get(), stage.rest.get()];
  const [left, top] = [Math.round(-view.x * view.zoom), Math.round(-view.y * view.zoom)];
  const scale = view.zoom / rest;
  const scaled = scale === 1 ? '' : ` scale(${scale})`;
  plane.style.transform = `translate(${left}px, ${top}px)${scaled}`;
  plane.style.setProperty('--z', String(rest));
  plane.classList.toggle('world-moving', scale !== 1);
  // Not as custom properties: all items inherit these, and would be styled anew at every move.
  ground.style.backgroundPosition = t`${left}px ${top}px`;
  ground.style.backgroundSize = t`${gridPx(view.zoom)}px ${gridPx(view.zoom)}px`;
}

/** The dots of the ground, far enough from each other at any zoom. */
function gridPx(zoom: number): number {
  let px = 24 * zoom;
  while (px < 18) px *= 4;
  return px;
}

/**
 * The keyboard follows what is chosen, while it is on the canvas and in no item. It also comes back
 * to the canvas where the element that had it was removed.
 */
function useFocus(root: RefObject<HTMLDivElement | null>, stage: Stage): void {
  useEffect(() => {
    let had = false;
    const onFocus = ({ target }: FocusEvent): void => {
      had = target instanceof Node && root.current?.contains(target) === true;
    };
    const follow = (): void => {
      const at = document.activeElement;
      if (root.current === null || !had || stage.inside.get() !== null) return;
      if (at === document.body || root.current.contains(at)) followChosen(root.current, stage);
    };
    // After React has drawn what is new.
    const soon = (): void => void requestAnimationFrame(follow);
    document.addEventListener('focusin', onFocus);
    // It is nowhere after a list or a dialog led here: the keys of the canvas work at once.
    if (document.activeElement === document.body) root.current?.focus({ preventScroll: true });
    const { focused, chosen, inside, board } = stage;
    const stops = [focused, chosen, inside, board.list].map((store) => store.subscribe(soon));
    return () => {
      document.removeEventListener('focusin', onFocus);
      stops.forEach((stop) => stop());
    };
  }, [root, stage]);
}

function followChosen(canvas: HTMLElement, stage: Stage): void {
  const id = stage.chosen.get().length === 0 ? null : stage.focused.get();
  const item = id === null ? null : canvas.querySelector<HTMLElement>(`[data-item="${id}"]`);
  const at = document.activeElement;
  // A field of the item keeps the keyboard; a terminal that was left does not.
  if (item?.contains(at) === true && at?.matches('.xterm-helper-textarea') !== true) return;
  (item ?? canvas).focus({ preventScroll: true });
}
