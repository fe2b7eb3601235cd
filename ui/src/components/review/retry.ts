/** Calls that are made again until the server answers. */

import { Problem } from '../../api/call';

const PAUSE_MS = 3000;

/** Whether a failure may be over soon: of the connection, or of the server. */
export function passes(reason: unknown): boolean {
  return reason instanceof Problem && (reason.status === 0 || reason.status >= 500);
}

export const pause = (): Promise<void> => new Promise((done) => window.setTimeout(done, PAUSE_MS));

/** Calls `show` with what a call returns; again after each failure that may pass, for as long as
 *  somebody looks. Of other failures what was shown stays. */
export async function showOnceAnswered<T>(
  call: () => Promise<T>,
  show: (value: T) => void,
  isGone: () => boolean,
): Promise<void> {
  while (!isGone()) {
    try {
      const value = await call();
      if (!isGone()) show(value);
      return;
    } catch (reason) {
      if (!passes(reason)) return;
      await pause();
    }
  }
}
