/** Pointer, wheel, keys and clipboard of the canvas, each handed to what it means. */

import { useEffect, type RefObject } from 'react';
import { t } from '../../language/t';
import { dialogIsOpen } from '../../components/parts/Dialog';
import { notify } from '../../state/announce';
import { addItem } from '../document/acts';
import { clipOf, fromText, pasteItems, readClip } from '../document/clip';
import { centre, type Point } from '../document/geometry';
import { sizeOf, type Item } from '../document/items';
import { arrow, can, commandFor, keyOf, removeChosen, tab } from './commands';
import type { Places } from './commands';
import { bringFiles } from './files';
import { Gestures, type Handle } from './gestures';
import type { Stage } from './stage';

/** What a pointer uses itself. */
const OWN = 'button, a, input, select, textarea, [contenteditable="true"], .item-slot';
/** The inside of a pane: its keys are its own, all but Escape where it has no use for it. */
const PANE = '.item-pane > *';
/** What keys are typed into. */
const TYPED = 'input, select, textarea, [contenteditable="true"], .pane-screen';
const WHEEL_ZOOM = 0.0022;
const LINE_PX = 16;

export function useInput(root: RefObject<HTMLDivElement | null>, places: Places): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const input = new Input(element, places);
    return () => input.dispose();
  }, [root, places]);
}

class Input {
  readonly #root: HTMLElement;
  readonly #places: Places;
  readonly #stage: Stage;
  readonly #gestures: Gestures;
  readonly #stop = new AbortController();
  readonly #fingers = new Map<number, Point>();
  #space = false;

  constructor(root: HTMLElement, places: Places) {
    this.#root = root;
    this.#places = places;
    this.#stage = places.stage;
    this.#gestures = new Gestures(places.stage);
    const { signal } = this.#stop;
    root.addEventListener('pointerdown', this.#onDown, { signal });
    root.addEventListener('pointermove', this.#onHover, { signal });
    root.addEventListener('pointerleave', () => this.#stage.cursor.set(null), { signal });
    root.addEventListener('dblclick', this.#onDouble, { signal });
    root.addEventListener('wheel', this.#onWheel, { signal, passive: false, capture: true });
    root.addEventListener('keydown', this.#onKey, { signal });
    root.addEventListener('keyup', this.#onKeyUp, { signal });
    root.addEventListener('focusin', this.#onFocus, { signal });
    root.addEventListener('scroll', () => root.scrollTo(0, 0), { signal });
    window.addEventListener('pointermove', this.#onMove, { signal });
    window.addEventListener('pointerup', this.#onUp, { signal });
    window.addEventListener('pointercancel', this.#onCancel, { signal });
    // After the page's own handlers: what a pane uses Escape for comes first.
    document.addEventListener('keydown', this.#onPaneKey, { signal });
    document.addEventListener('copy', this.#onCopy, { signal });
    document.addEventListener('cut', this.#onCopy, { signal });
    document.addEventListener('paste', this.#onPaste, { signal });
  }

  dispose(): void {
    this.#stop.abort();
    this.#gestures.cancel();
  }

  #place({ clientX, clientY }: MouseEvent): Point {
    const box = this.#root.getBoundingClientRect();
    return { x: clientX - box.left, y: clientY - box.top };
  }

  #itemAt(target: EventTarget | null): Item | null {
    const element = closest(target, '[data-item]');
    return element === null ? null : this.#stage.board.item(element.dataset['item'] ?? '');
  }

  readonly #onDown = (event: PointerEvent): void => {
    const { target } = event;
    if (this.#pinches(event)) return;
    const handle = closest(target, '[data-handle]');
    const item = this.#itemAt(target);
    const at = this.#place(event);
    if (handle !== null) {
      const [sized] = this.#stage.picked;
      if (sized !== undefined) this.#gestures.pressHandle(at, sized, handleOf(handle));
      event.preventDefault();
      return;
    }
    const pressed = {
      at,
      button: event.button,
      shift: event.shiftKey,
      alt: event.altKey,
      space: this.#space,
    };
    const pans = event.button === 1 || this.#space || this.#stage.tool.get() === 'hand';
    if (!pans && item !== null && this.#isInside(target, item)) return;
    if (this.#gestures.press(pressed, item)) {
      if (closest(target, TYPED) === null || pans) {
        // No text is chosen by a drag, and the keyboard comes to the canvas.
        event.preventDefault();
        this.#focus(item);
      }
      this.#root.classList.add('canvas-busy');
    }
  };

  /** A press that an item uses itself: it is chosen, and entered where it is a pane. */
  #isInside(target: EventTarget | null, item: Item): boolean {
    const stage = this.#stage;
    if (stage.inside.get() === item.id && closest(target, '.item-head, .frame-title') === null)
      return true;
    if (closest(target, '.item-pane') !== null) {
      stage.enter(item.id);
      return true;
    }
    if (closest(target, OWN) === null) return false;
    stage.choose([item.id]);
    return true;
  }

  #focus(item: Item | null): void {
    const wanted =
      item === null ? null : this.#root.querySelector<HTMLElement>(`[data-item="${item.id}"]`);
    (wanted ?? this.#root).focus({ preventScroll: true });
  }

  readonly #onHover = (event: PointerEvent): void => {
    if (event.pointerType !== 'touch') this.#stage.cursor.set(this.#stage.at(this.#place(event)));
  };

  readonly #onMove = (event: PointerEvent): void => {
    if (this.#pinch(event)) return;
    if (this.#gestures.active)
      this.#gestures.move(this.#place(event), event.ctrlKey || event.metaKey);
  };

  readonly #onUp = (event: PointerEvent): void => {
    this.#fingers.delete(event.pointerId);
    this.#root.classList.remove('canvas-busy');
    this.#gestures.release();
  };

  readonly #onCancel = (event: PointerEvent): void => {
    this.#fingers.delete(event.pointerId);
    this.#root.classList.remove('canvas-busy');
    this.#gestures.cancel();
  };

  /** Two fingers move and zoom the plane. */
  #pinches(event: PointerEvent): boolean {
    if (event.pointerType !== 'touch') return false;
    this.#fingers.set(event.pointerId, this.#place(event));
    if (this.#fingers.size !== 2) return false;
    this.#gestures.cancel();
    return true;
  }

  #pinch(event: PointerEvent): boolean {
    const before = this.#fingers.get(event.pointerId);
    if (before === undefined) return false;
    const now = this.#place(event);
    const other = [...this.#fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.#fingers.set(event.pointerId, now);
    if (other === undefined || this.#fingers.size !== 2) return false;
    const ratio = distance(now, other) / Math.max(1, distance(before, other));
    const stage = this.#stage;
    stage.pan((before.x - now.x) / 2, (before.y - now.y) / 2);
    stage.zoomTo(stage.view.get().zoom * ratio, {
      x: (now.x + other.x) / 2,
      y: (now.y + other.y) / 2,
    });
    return true;
  }

  readonly #onDouble = (event: MouseEvent): void => {
    const item = this.#itemAt(event.target);
    const stage = this.#stage;
    if (item !== null && item.kind !== 'frame') {
      if (!item.locked || item.kind === 'terminal' || item.kind === 'agent') stage.enter(item.id);
      return;
    }
    if (!stage.edits || closest(event.target, OWN) !== null) return;
    const at = stage.at(this.#place(event));
    const { w, h } = sizeOf('note');
    const box = { x: at.x - w / 2, y: at.y - h / 2 };
    stage.enter(addItem(stage.board, { kind: 'note', box }, stage.author));
  };

  readonly #onWheel = (event: WheelEvent): void => {
    const stage = this.#stage;
    const zooms = event.ctrlKey || event.metaKey;
    const item = this.#itemAt(event.target);
    // What somebody is in scrolls itself.
    if (!zooms && item !== null && stage.inside.get() === item.id) return;
    event.preventDefault();
    event.stopPropagation();
    stage.followed.set(null);
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (zooms) {
      const by = Math.exp(-Math.max(-160, Math.min(160, dy)) * WHEEL_ZOOM * 2);
      stage.zoomTo(stage.view.get().zoom * by, this.#place(event));
    } else if (event.shiftKey && dx === 0) stage.pan(dy, 0);
    else stage.pan(dx, dy);
  };

  /** An item that the keyboard came to from elsewhere on the page is the one that keys mean. */
  readonly #onFocus = ({ target }: FocusEvent): void => {
    const item = this.#itemAt(target);
    if (item === null || !(target instanceof Element) || !target.matches('[data-item]')) return;
    const { chosen } = this.#stage;
    if (target.matches(':focus-visible') && !chosen.get().includes(item.id))
      this.#stage.choose([item.id], false);
  };

  /** The keyboard is nowhere, as what had it has gone away: it comes back to the item, and the key
   *  means there what it says. */
  #onLostKey(event: KeyboardEvent): void {
    // A dialog that lies over the canvas has the keys, wherever the focus is.
    if (dialogIsOpen()) return;
    const { chosen, inside, board } = this.#stage;
    const id = inside.get() ?? chosen.get()[0] ?? null;
    this.#focus(id === null ? null : board.item(id));
    if (!this.#acts(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  readonly #onPaneKey = (event: KeyboardEvent): void => {
    const { target } = event;
    if (target === document.body && document.activeElement === document.body)
      this.#onLostKey(event);
    if (event.key !== 'Escape' || event.defaultPrevented || !this.#isInPane(target)) return;
    if (closest(target, '.pane-screen') === null) this.#leave(event);
  };

  #isInPane(target: EventTarget | null): boolean {
    const pane = closest(target, PANE);
    return pane !== null && this.#root.contains(pane);
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || this.#isInPane(event.target)) return;
    if (closest(event.target, TYPED) !== null) {
      // A terminal keeps its Escape: another key leaves it.
      if (event.key === 'Escape' && closest(event.target, '.pane-screen') === null)
        this.#leave(event);
      return;
    }
    if (event.key === ' ' && closest(event.target, OWN) === null) {
      this.#space = true;
      this.#root.classList.add('canvas-hand');
      event.preventDefault();
      return;
    }
    if (this.#acts(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  readonly #onKeyUp = (event: KeyboardEvent): void => {
    if (event.key !== ' ') return;
    this.#space = false;
    this.#root.classList.remove('canvas-hand');
  };

  #acts(event: KeyboardEvent): boolean {
    const stage = this.#stage;
    if (closest(event.target, OWN) !== null) {
      if (event.key === 'Escape') this.#leave(event);
      return false;
    }
    if (event.key === 'Escape') return this.#escape();
    if (event.key === 'Tab' && this.#isEntered) return false;
    if (event.key === 'Tab') return this.#goes(event.shiftKey ? -1 : 1);
    if (arrow(event, stage)) return true;
    const command = commandFor(keyOf(event));
    if (command === null) return false;
    // A key of the canvas is no key of the page around it, for those who only look, too.
    if (!can(command, stage)) return command.edits === true && !stage.works;
    command.run(this.#places);
    return true;
  }

  /** Goes to the next item, with the keyboard at once: quick keys must not outrun it. */
  #goes(by: 1 | -1): boolean {
    if (!tab(this.#stage, by)) return false;
    const [one] = this.#stage.picked;
    const element = this.#root.querySelector<HTMLElement>(`[data-item="${one?.id ?? ''}"]`);
    element?.focus({ preventScroll: true });
    return true;
  }

  /** From the item that one is in, Tab goes into it. */
  get #isEntered(): boolean {
    const inside = this.#stage.inside.get();
    return inside !== null && this.#itemAt(document.activeElement)?.id === inside;
  }

  #escape(): boolean {
    const stage = this.#stage;
    if (this.#gestures.cancel()) return true;
    if (stage.inside.get() !== null) stage.leave();
    else if (stage.chosen.get().length > 0) {
      stage.choose([]);
      stage.focused.set(null);
    } else return false;
    return true;
  }

  #leave(event: KeyboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    this.#stage.leave();
    this.#focus(this.#itemAt(event.target));
  }

  /** Whether the clipboard is the canvas's: the keyboard is on it, and in nothing that is typed. */
  get #takesClipboard(): boolean {
    const { activeElement: at } = document;
    return at !== null && this.#root.contains(at) && closest(at, TYPED) === null;
  }

  readonly #onCopy = (event: ClipboardEvent): void => {
    const stage = this.#stage;
    if (!this.#takesClipboard || stage.picked.length === 0) return;
    event.preventDefault();
    event.clipboardData?.setData('text/plain', clipOf(stage.picked));
    if (event.type === 'cut' && stage.edits) removeChosen(stage);
  };

  readonly #onPaste = (event: ClipboardEvent): void => {
    const stage = this.#stage;
    if (!this.#takesClipboard) return;
    event.preventDefault();
    if (!stage.edits) {
      notify(t`You may look here, not edit.`);
      return;
    }
    const at = stage.cursor.get() ?? centre(stage.window);
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) {
      void bringFiles(stage, files, at);
      return;
    }
    pasteText(stage, event.clipboardData?.getData('text/plain') ?? '', at);
  };
}

/** Puts copied items here, or makes an item of a text. A guest, who makes no panes, copies none. */
function pasteText(stage: Stage, text: string, at: Point): void {
  const clip = readClip(text);
  if (clip !== null && stage.guest) {
    notify(t`A guest copies no items.`);
    return;
  }
  if (clip !== null) {
    stage.choose(pasteItems(stage.board, clip, at, stage.author), false);
    return;
  }
  const made = fromText(text);
  if (made === null) return;
  const { w, h } = sizeOf(made.kind);
  const box = { x: at.x - w / 2, y: at.y - h / 2 };
  stage.choose([addItem(stage.board, { ...made, box }, stage.author)], false);
}

/** The nearest element around a target that matches. */
function closest(target: EventTarget | null, selector: string): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(selector) : null;
}

function handleOf(element: HTMLElement): Handle {
  const name = element.dataset['handle'] ?? '';
  const side = (start: string, end: string): 'start' | 'end' | null => {
    if (name.includes(start)) return 'start';
    return name.includes(end) ? 'end' : null;
  };
  return { x: side('w', 'e'), y: side('n', 's') };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
