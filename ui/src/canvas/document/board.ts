/**
 * The document of a dashboard: its items as values, kept fresh, and the undo of one's own acts.
 *
 * It knows no connection and no DOM. What changes a document stands in `acts.ts`.
 */

import * as Y from 'yjs';

import { Store } from '../../state/store';
import { readItem, type Fields, type Item } from './items';

/** The origin of what this person does here; only that is undone. */
export const HERE = 'here';
/** The origin of what the page found by itself. */
const FOUND = 'found';
/** Typing within this time is undone in one. */
const TYPING_MS = 600;

export class Board {
  readonly doc: Y.Doc;
  readonly fields: Y.Map<Fields>;
  readonly undos: Y.UndoManager;
  /** All items by their ids' order: stable, so that nothing is moved about in the page. */
  readonly list = new Store<readonly Item[]>([]);
  /** How often there was something to undo, and to redo. */
  readonly history = new Store<{ readonly undo: number; readonly redo: number }>({
    undo: 0,
    redo: 0,
  });
  readonly #items = new Map<string, Item>();
  #rev = 0;

  constructor(doc = new Y.Doc()) {
    this.doc = doc;
    this.fields = doc.getMap('items');
    this.undos = new Y.UndoManager(this.fields, {
      trackedOrigins: new Set([HERE]),
      captureTimeout: TYPING_MS,
    });
    this.fields.observeDeep((events) => this.#onChange(events));
    const count = (): void =>
      this.history.set({ undo: this.undos.undoStack.length, redo: this.undos.redoStack.length });
    this.undos.on('stack-item-added', count);
    this.undos.on('stack-item-popped', count);
    this.undos.on('stack-cleared', count);
    this.#read([...this.fields.keys()]);
  }

  item(id: string): Item | null {
    return this.#items.get(id) ?? null;
  }

  /** Does something as this person, as one step of their undo. */
  act(work: () => void): void {
    this.undos.stopCapturing();
    this.doc.transact(work, HERE);
    this.undos.stopCapturing();
  }

  /** Does something that belongs to the step before it, as the next letter does. */
  go(work: () => void): void {
    this.doc.transact(work, HERE);
  }

  /** Writes down what the page found, not what this person did: nobody undoes it. */
  note(work: () => void): void {
    this.doc.transact(work, FOUND);
  }

  undo(): boolean {
    return this.undos.undo() !== null;
  }

  redo(): boolean {
    return this.undos.redo() !== null;
  }

  destroy(): void {
    this.undos.destroy();
    this.doc.destroy();
  }

  #onChange(events: readonly Y.YEvent<Y.AbstractType<unknown>>[]): void {
    const touched = new Set<string>();
    for (const event of events) {
      const [id] = event.path;
      if (typeof id === 'string') touched.add(id);
      else for (const key of event.changes.keys.keys()) touched.add(key);
    }
    this.#read([...touched]);
  }

  #read(ids: readonly string[]): void {
    this.#rev += 1;
    for (const id of ids) {
      const item = this.fields.has(id) ? readItem(id, this.fields.get(id), this.#rev) : null;
      if (item === null) this.#items.delete(id);
      else this.#items.set(id, item);
    }
    this.list.set([...this.#items.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }
}
