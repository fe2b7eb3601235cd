/**
 * Whether a request is sent again, and when. One that was refused for now, with `Retry-After`, was
 * not performed. One whose end nobody knows is repeated only where that does no harm.
 */
export interface Retries {
  /** Attempts of a call, the first one included. */
  readonly attempts: number;
  /** A server that wants a longer pause than this is an error at once. */
  readonly longestSeconds: number;
}

export const USUAL: Retries = { attempts: 4, longestSeconds: 30 };

const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);
const FIRST_PAUSE_SECONDS = 0.25;

/** The pause in seconds before the next attempt; null for no further one. */
export function pauseAfter(
  rules: Retries,
  request: { readonly method: string; readonly keyed: boolean },
  answer: Response | null,
  attempt: number,
): number | null {
  if (attempt >= rules.attempts) return null;
  const status = answer?.status ?? 503;
  const told = answer?.headers.get('Retry-After') ?? null;
  if (status !== 429 && status !== 503 && status !== 504) return null;
  if (told !== null) {
    const seconds = /^\d{1,6}$/.test(told) ? Number(told) : Infinity;
    return seconds <= rules.longestSeconds ? seconds + Math.random() / 10 : null;
  }
  if (status === 429 || !(IDEMPOTENT.has(request.method) || request.keyed)) return null;
  const most = Math.min(FIRST_PAUSE_SECONDS * 2 ** attempt, rules.longestSeconds);
  return most * (0.5 + Math.random() / 2);
}
