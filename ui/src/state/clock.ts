/** Words for times and durations, and a shared slow tick that keeps them true. */

import { Store } from './store';
import { t } from '../language/t';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Now, in milliseconds; moves every 15 s while the page lives. */
export const tick = new Store(Date.now());
setInterval(() => tick.set(Date.now()), 15_000);

/** `12 s`, `4 min`, `3 h 20 min`, `2 d 4 h`: two units at most. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) return t`${whole} s`;
  if (whole < HOUR) return t`${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY) return pair(whole, HOUR, t`h`, MINUTE, t`min`);
  return pair(whole, DAY, t`d`, HOUR, t`h`);
}

function pair(whole: number, big: number, bigWord: string, small: number, smallWord: string) {
  const rest = Math.floor((whole % big) / small);
  return `${Math.floor(whole / big)} ${bigWord}${rest > 0 ? ` ${rest} ${smallWord}` : ''}`;
}

/** Age of a moment (RFC 3339): one unit, for lists. */
export function age(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000;
  if (isNow(at, now)) return t`now`;
  if (seconds < MINUTE) return t`${Math.floor(seconds)} s`;
  if (seconds < HOUR) return t`${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return t`${Math.floor(seconds / HOUR)} h`;
  return t`${Math.floor(seconds / DAY)} d`;
}

/** Whether a moment is so fresh that its age is `now`. */
export function isNow(at: string, now: number): boolean {
  return now - Date.parse(at) < 10_000;
}

/** How long ago a moment was: `now`, `4 min ago`. */
export function agoWords(at: string, now: number): string {
  return isNow(at, now) ? t`now` : t`${age(at, now)} ago`;
}

/** When something changed: `changed now`, `changed 4 min ago`. */
export function changedWords(at: string, now: number): string {
  return isNow(at, now) ? t`changed now` : t`changed ${age(at, now)} ago`;
}

/** Seconds until a moment; negative when past. */
export function secondsUntil(at: string, now: number): number {
  return (Date.parse(at) - now) / 1000;
}
