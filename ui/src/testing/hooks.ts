/**
 * What browser tests may look at: the terminals, and a hash over each one's bytes.
 *
 * Off unless this browser's storage says `atoll.test` = `1`, so nothing of it exists on
 * a person's page.
 */

import type { Terminal } from '@xterm/xterm';
import { Sha256 } from './sha256';

/** What was received of one terminal: counted bytes only, no preambles. */
export class Tap {
  readonly #hash = new Sha256();
  /** Offset of the first byte seen; null before it. */
  start: number | null = null;
  /** Offset after the last byte seen. */
  end = 0;
  bytes = 0;
  /** Where bytes came at another offset than the one due: `[due, came]`. */
  readonly breaks: [number, number][] = [];

  feed(bytes: Uint8Array, offset: number): void {
    if (this.start === null) this.start = offset;
    else if (offset !== this.end) this.breaks.push([this.end, offset]);
    this.end = offset + bytes.length;
    this.bytes += bytes.length;
    this.#hash.update(bytes);
  }

  /** SHA-256 of the bytes so far, in hex. */
  digest(): string {
    return this.#hash.digest();
  }
}

declare global {
  interface Window {
    __atollTerms?: Map<string, Terminal>;
    __atollTaps?: Map<string, Tap>;
  }
}

const enabled = localStorage.getItem('atoll.test') === '1';

/** Registers a terminal; returns its tap, or undefined on a person's page. */
export function expose(id: string, term: Terminal): Tap | undefined {
  if (!enabled) return undefined;
  const tap = new Tap();
  (window.__atollTerms ??= new Map()).set(id, term);
  (window.__atollTaps ??= new Map()).set(id, tap);
  return tap;
}

export function unexpose(id: string, term: Terminal): void {
  if (window.__atollTerms?.get(id) === term) window.__atollTerms.delete(id);
}
