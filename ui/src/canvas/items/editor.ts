/**
 * The editor of a note's rich text: an editable element whose every change goes to the document
 * first and is then drawn from there, so that others' letters merge while one types.
 *
 * Text only ever becomes text nodes. What an input method composes is let through and read back
 * when it is done.
 */

import * as Y from 'yjs';

import { typedAddress } from '../document/links';
import {
  difference,
  linesOf,
  linkTo,
  mark,
  marksAt,
  runsOf,
  styleAt,
  styleLines,
  wordsOf,
} from '../document/rich';
import { MARKS, type LineStyle, type Mark } from '../document/rich';
import { drawLines, offsetOf, pointOf } from './lines';

export interface EditorOptions {
  readonly host: HTMLElement;
  readonly text: Y.Text;
  /** Does something to the document as typing, of which several letters are undone in one. */
  readonly go: (work: () => void) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  readonly onState: (state: EditorState) => void;
  readonly onLeave: () => void;
}

/** What the buttons of the editor show. */
export interface EditorState {
  readonly marks: ReadonlySet<Mark>;
  readonly style: LineStyle;
  readonly chosen: boolean;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** What a line begins with to become another. */
const STARTS: Readonly<Record<string, LineStyle>> = {
  '-': 'bullet',
  '*': 'bullet',
  '1.': 'ordered',
  '#': 'heading',
};
const DELETES = /^delete/;

export class RichEditor {
  readonly #options: EditorOptions;
  readonly #text: Y.Text;
  #anchor: Y.RelativePosition;
  #head: Y.RelativePosition;
  #composing = false;
  /** Marks that the next letter gets, chosen without letters. */
  #pending: ReadonlySet<Mark> | null = null;

  constructor(options: EditorOptions) {
    this.#options = options;
    this.#text = options.text;
    const end = Y.createRelativePositionFromTypeIndex(this.#text, this.#text.length, -1);
    this.#anchor = this.#head = end;
    const { host } = options;
    host.addEventListener('beforeinput', this.#onInput);
    host.addEventListener('keydown', this.#onKey);
    host.addEventListener('paste', this.#onPaste);
    host.addEventListener('copy', this.#onCopy);
    host.addEventListener('cut', this.#onCopy);
    host.addEventListener('compositionstart', this.#onCompose);
    host.addEventListener('compositionend', this.#onComposed);
    document.addEventListener('selectionchange', this.#onSelection);
    this.#text.observe(this.#onChange);
    this.#draw();
  }

  dispose(): void {
    const { host } = this.#options;
    host.removeEventListener('beforeinput', this.#onInput);
    host.removeEventListener('keydown', this.#onKey);
    host.removeEventListener('paste', this.#onPaste);
    host.removeEventListener('copy', this.#onCopy);
    host.removeEventListener('cut', this.#onCopy);
    host.removeEventListener('compositionstart', this.#onCompose);
    host.removeEventListener('compositionend', this.#onComposed);
    document.removeEventListener('selectionchange', this.#onSelection);
    this.#text.unobserve(this.#onChange);
  }

  focus(): void {
    this.#options.host.focus({ preventScroll: true });
    this.#restore();
  }

  toggle(what: Mark): void {
    const { from, to } = this.#range();
    const now = this.#pending ?? marksAt(runsOf(this.#text), from, to);
    if (from === to) {
      const next = new Set(now);
      if (!next.delete(what)) next.add(what);
      this.#pending = next;
    } else this.#options.go(() => mark(this.#text, from, to, what, !now.has(what)));
    this.#tell();
  }

  style(style: LineStyle): void {
    const { from, to } = this.#range();
    const next = styleAt(runsOf(this.#text), from) === style ? 'plain' : style;
    this.#options.go(() => styleLines(this.#text, from, to, next));
    this.#tell();
  }

  /** Makes the chosen letters a link; with null plain letters again. */
  link(address: string | null): void {
    const { from, to } = this.#range();
    this.#options.go(() => linkTo(this.#text, from, to, address));
  }

  /** The chosen letters. */
  get words(): string {
    const { from, to } = this.#range();
    return wordsOf(this.#text).slice(from, to);
  }

  #range(): Range {
    const [a, b] = [this.#index(this.#anchor), this.#index(this.#head)];
    return { from: Math.min(a, b), to: Math.max(a, b) };
  }

  #index(position: Y.RelativePosition): number {
    const { doc } = this.#text;
    if (doc === null) return 0;
    const found = Y.createAbsolutePositionFromRelativePosition(position, doc);
    return found?.index ?? this.#text.length;
  }

  #place(anchor: number, head = anchor): void {
    this.#anchor = Y.createRelativePositionFromTypeIndex(this.#text, anchor, -1);
    this.#head = Y.createRelativePositionFromTypeIndex(this.#text, head, -1);
  }

  readonly #onChange = (): void => {
    if (!this.#composing) this.#draw();
  };

  #draw(): void {
    drawLines(this.#options.host, linesOf(runsOf(this.#text)));
    this.#restore();
  }

  /** Puts the caret back where it was among the letters. */
  #restore(): void {
    const { host } = this.#options;
    if (document.activeElement !== host) return;
    const [anchor, head] = [this.#index(this.#anchor), this.#index(this.#head)];
    const [a, h] = [pointOf(host, anchor), pointOf(host, head)];
    document.getSelection()?.setBaseAndExtent(a.node, a.offset, h.node, h.offset);
    this.#tell();
  }

  #tell(): void {
    const { from, to } = this.#range();
    const runs = runsOf(this.#text);
    this.#options.onState({
      marks: this.#pending ?? marksAt(runs, from, to),
      style: styleAt(runs, from),
      chosen: to > from,
    });
  }

  readonly #onSelection = (): void => {
    const { host } = this.#options;
    const selection = document.getSelection();
    if (this.#composing || selection?.anchorNode == null || selection.focusNode === null) return;
    if (!host.contains(selection.anchorNode) || !host.contains(selection.focusNode)) return;
    const anchor = offsetOf(host, selection.anchorNode, selection.anchorOffset);
    const head = offsetOf(host, selection.focusNode, selection.focusOffset);
    if (anchor === this.#index(this.#anchor) && head === this.#index(this.#head)) return;
    this.#pending = null;
    this.#place(anchor, head);
    this.#tell();
  };

  readonly #onInput = (event: InputEvent): void => {
    if (event.inputType === 'insertCompositionText') return;
    event.preventDefault();
    const { inputType: kind } = event;
    if (kind === 'insertText' || kind === 'insertReplacementText') {
      const words = event.data ?? event.dataTransfer?.getData('text/plain') ?? '';
      this.#replace(this.#target(event), words);
    } else if (kind === 'insertParagraph' || kind === 'insertLineBreak') this.#breakLine();
    else if (kind === 'formatBold') this.toggle('bold');
    else if (kind === 'formatItalic') this.toggle('italic');
    else if (DELETES.test(kind)) this.#delete(event);
  };

  /** The letters that an input is about, which need not be the chosen ones. */
  #target(event: InputEvent): Range {
    const [range] = event.getTargetRanges();
    if (range === undefined) return this.#range();
    const { host } = this.#options;
    const from = offsetOf(host, range.startContainer, range.startOffset);
    return { from, to: Math.max(from, offsetOf(host, range.endContainer, range.endOffset)) };
  }

  #delete(event: InputEvent): void {
    const range = this.#target(event);
    const { from, to } = this.#range();
    const runs = runsOf(this.#text);
    const line = linesOf(runs).findLast(({ start }) => start <= from);
    const styled = line !== undefined && line.style !== 'plain' && line.start === from;
    // At the start of a styled line its style goes first.
    if (from === to && styled && event.inputType === 'deleteContentBackward') this.style('plain');
    else this.#replace(range, '');
  }

  #replace({ from, to }: Range, words: string): void {
    const marks = this.#pending ?? marksAt(runsOf(this.#text), from, from);
    const clean = words.replace(/\r\n?/g, '\n');
    this.#options.go(() => {
      if (to > from) this.#text.delete(from, to - from);
      if (clean !== '') this.#text.insert(from, clean, this.#attributes(marks, from));
      // Placed within, so that what is drawn at its end finds the caret.
      this.#place(from + clean.length);
    });
    this.#pending = null;
    if (clean === ' ') this.#startLine(from);
    this.#restore();
  }

  /** Marks of new letters; a line's style is its break's alone. */
  #attributes(marks: ReadonlySet<Mark>, at: number): Record<string, unknown> {
    const all: Record<string, unknown> = Object.fromEntries(
      MARKS.filter((one) => marks.has(one)).map((one) => [one, true]),
    );
    const [before, after] = [this.#linkAt(at - 1), this.#linkAt(at)];
    return before !== null && before === after ? { ...all, link: before } : all;
  }

  #linkAt(at: number): string | null {
    let place = 0;
    for (const run of runsOf(this.#text)) {
      place += run.text.length;
      if (at < place) return run.link ?? null;
    }
    return null;
  }

  /** Gives a line the style that its first letters stand for. */
  #startLine(space: number): void {
    const line = linesOf(runsOf(this.#text)).findLast(({ start }) => start <= space);
    if (line === undefined || line.style !== 'plain') return;
    const style = STARTS[wordsOf(this.#text).slice(line.start, space)];
    if (style === undefined) return;
    this.#options.go(() => {
      this.#text.delete(line.start, space + 1 - line.start);
      styleLines(this.#text, line.start, line.start, style);
      this.#place(line.start);
    });
  }

  #breakLine(): void {
    const { from, to } = this.#range();
    const line = linesOf(runsOf(this.#text)).findLast(({ start }) => start <= from);
    const style = line?.style ?? 'plain';
    if (from === to && line?.length === 0 && style !== 'plain') {
      this.style('plain');
      return;
    }
    this.#options.go(() => {
      if (to > from) this.#text.delete(from, to - from);
      this.#text.insert(from, '\n', {});
      this.#place(from + 1);
      if (style === 'plain') return;
      styleLines(this.#text, from, from, style);
      // A heading is one line; a list goes on.
      if (style === 'heading') styleLines(this.#text, from + 1, from + 1, 'plain');
    });
    this.#restore();
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const acts: Readonly<Record<string, () => void>> = {
      z: event.shiftKey ? this.#options.redo : this.#options.undo,
      y: this.#options.redo,
      e: () => this.toggle('code'),
      enter: this.#options.onLeave,
    };
    const act = command && !event.altKey ? acts[key] : undefined;
    if (act !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      act();
    }
  };

  readonly #onPaste = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    const words = event.clipboardData?.getData('text/plain') ?? '';
    const address = typedAddress(words);
    const { from, to } = this.#range();
    if (address !== null && to > from) this.link(address);
    else this.#replace({ from, to }, words);
  };

  readonly #onCopy = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    event.clipboardData?.setData('text/plain', this.words);
    if (event.type === 'cut') this.#replace(this.#range(), '');
  };

  readonly #onCompose = (): void => {
    this.#composing = true;
  };

  /** Reads back what an input method wrote into the page. */
  readonly #onComposed = (): void => {
    this.#composing = false;
    const { host } = this.#options;
    const selection = document.getSelection();
    const node = selection?.focusNode ?? null;
    const caret = node === null ? 0 : offsetOf(host, node, selection?.focusOffset ?? 0);
    const lines = [...host.children].map((line) => line.textContent);
    const { at, removed, added } = difference(wordsOf(this.#text), lines.join('\n'), caret);
    if (removed === 0 && added === '') this.#draw();
    else this.#replace({ from: at, to: at + removed }, added);
  };
}
