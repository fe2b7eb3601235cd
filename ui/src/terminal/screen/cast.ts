/**
 * Recordings in the browser: asciicast v2 and v3 read into events, and a player's clock.
 *
 * Pure: the clock is told the time and says what to show; `Player.tsx` has the screen.
 * Source: docs.asciinema.org/manual/asciicast/v3.
 */

import { fieldsOf, parseJson } from '../../api/fields';

export interface CastEvent {
  /** Seconds since the start. */
  readonly at: number;
  readonly code: string;
  readonly text: string;
}

export interface Cast {
  readonly cols: number;
  readonly rows: number;
  readonly events: readonly CastEvent[];
  /** Seconds. */
  readonly length: number;
}

/** A command that began at a moment of a recording. */
export interface Chapter {
  readonly at: number;
  readonly words: string;
}

/** Reads a whole file; null when it is no recording. Lines that are broken are passed over. */
export function readCast(text: string): Cast | null {
  const [first = '', ...lines] = text.split('\n');
  const header = fieldsOf(parseJson(first)) ?? {};
  const version = header['version'];
  if (version !== 2 && version !== 3) return null;
  const term = fieldsOf(header['term']) ?? {};
  const events: CastEvent[] = [];
  let now = 0;
  for (const line of lines) {
    const event = readEvent(line);
    if (event === null) continue;
    // Version 3 counts from the event before, version 2 from the start.
    now = version === 3 ? now + event.at : Math.max(now, event.at);
    events.push({ ...event, at: now });
  }
  const [cols, rows] =
    version === 3 ? [term['cols'], term['rows']] : [header['width'], header['height']];
  return { cols: size(cols, 80), rows: size(rows, 24), events, length: now };
}

/** One line with its own time; null for a comment and for what is broken. */
function readEvent(line: string): CastEvent | null {
  const value = line.startsWith('#') ? null : parseJson(line);
  if (!Array.isArray(value)) return null;
  const [at, code, text] = value as unknown[];
  if (typeof at !== 'number' || !(at >= 0)) return null;
  return typeof code === 'string' && typeof text === 'string' ? { at, code, text } : null;
}

/** The commands of a recording, for jumping to them. */
export function chapters({ events }: Cast): readonly Chapter[] {
  return events
    .filter(({ code }) => code === 'm')
    .map(({ at, text }) => ({ at, words: text || 'mark' }));
}

/** Seconds at which a recording's output shows some words, in order; plain text only. */
export function findIn({ events }: Cast, words: string): readonly number[] {
  if (words === '') return [];
  const wanted = words.toLowerCase();
  const found: number[] = [];
  let tail = '';
  for (const { at, code, text } of events) {
    if (code !== 'o') continue;
    // Words may be cut by the end of an event; a tail too short to hold them is carried on.
    const whole = tail + plain(text).toLowerCase();
    if (whole.includes(wanted)) found.push(at);
    tail = whole.includes(wanted) ? '' : whole.slice(-(wanted.length - 1) || whole.length);
  }
  return found;
}

// eslint-disable-next-line no-control-regex -- the escape sequences of ECMA-48 and xterm
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])/g;

function plain(text: string): string {
  return text.replace(ESCAPES, '');
}

/** A silence is never played for longer than this, in seconds. */
export const IDLE_SECONDS = 2;

/** Where a player is, and what comes next. */
export class CastClock {
  readonly #cast: Cast;
  #next = 0;
  /** The recording's time. */
  at = 0;
  #speed = 1;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  /** How often as fast as it was. */
  play(speed: number): void {
    this.#speed = speed;
  }

  get ended(): boolean {
    return this.#next >= this.#cast.events.length;
  }

  /** Time passes by so many seconds; the events that came due. */
  pass(seconds: number): readonly CastEvent[] {
    const { events, length } = this.#cast;
    this.at = Math.min(length, this.at + seconds * this.#speed);
    const due = this.#take();
    const upcoming = events[this.#next];
    // A long silence is cut short: only its last part is waited for.
    if (upcoming !== undefined && upcoming.at - this.at > IDLE_SECONDS) {
      this.at = upcoming.at - IDLE_SECONDS;
    }
    return due;
  }

  /** Goes to a moment: everything from the start up to it, to be shown on an empty screen. */
  seek(at: number): readonly CastEvent[] {
    this.at = Math.min(this.#cast.length, Math.max(0, at));
    this.#next = 0;
    return this.#take();
  }

  #take(): readonly CastEvent[] {
    const { events } = this.#cast;
    const from = this.#next;
    while (this.#next < events.length && (events[this.#next]?.at ?? 0) <= this.at) this.#next += 1;
    return events.slice(from, this.#next);
  }
}

function size(value: unknown, otherwise: number): number {
  const whole = typeof value === 'number' ? Math.trunc(value) : 0;
  return whole >= 2 && whole <= 1000 ? whole : otherwise;
}
