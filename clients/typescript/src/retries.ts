/**
 * Whether a request is sent again, and when. One that was refused before anything was done is
 * repeated after its `Retry-After`. One whose end nobody knows is repeated only where that does no
 * harm.
 */
import type { AtollError } from './errors.js';

export interface Retries {
  /** Attempts of a call, the first one included. */
  readonly attempts: number;
  /** A server that wants a longer pause than this is an error at once. */
  readonly longestSeconds: number;
}

export const USUAL: Retries = { attempts: 4, longestSeconds: 30 };

const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);
const REFUSED = new Set(['rate_limited', 'not_ready']);
const UNKNOWN = new Set([0, 503, 504]);
const FIRST_PAUSE_SECONDS = 0.25;

/** The pause in seconds before the next attempt; null for no further one. */
export function pauseAfter(
  rules: Retries,
  request: { readonly method: string; readonly keyed: boolean },
  error: AtollError,
  attempt: number,
): number | null {
  if (attempt >= rules.attempts) return null;
  const refused = REFUSED.has(error.code);
  const harmless = IDEMPOTENT.has(request.method) || request.keyed;
  if (!refused && !(UNKNOWN.has(error.status) && harmless)) return null;
  if (error.retryAfter !== null) {
    const seconds = /^\d{1,6}$/.test(error.retryAfter) ? Number(error.retryAfter) : Infinity;
    return seconds <= rules.longestSeconds ? seconds + Math.random() / 10 : null;
  }
  if (!harmless) return null;
  const most = Math.min(FIRST_PAUSE_SECONDS * 2 ** attempt, rules.longestSeconds);
  return most * (0.5 + Math.random() / 2);
}
