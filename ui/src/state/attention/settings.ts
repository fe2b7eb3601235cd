/** How this browser tells its person that they are needed; remembered here. */

import { Store } from '../store';

export interface NotifySettings {
  /** Notifications of the desktop while the page is open. */
  readonly desktop: boolean;
  readonly sound: boolean;
}

const KEY = 'atoll.notify';

export const notifySettings = new Store<NotifySettings>(stored());

function stored(): NotifySettings {
  try {
    const value = (JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {}) as Record<string, unknown>;
    return { desktop: value['desktop'] === true, sound: value['sound'] === true };
  } catch {
    return { desktop: false, sound: false };
  }
}

export function keepNotifySettings(change: Partial<NotifySettings>): void {
  notifySettings.set((now) => ({ ...now, ...change }));
  try {
    localStorage.setItem(KEY, JSON.stringify(notifySettings.get()));
  } catch {
    // A private window may keep nothing: it holds until the page is left.
  }
}

/** Whether the page must hear of events while it is out of view. */
export function listensWhileHidden(): boolean {
  const { desktop, sound } = notifySettings.get();
  return desktop || sound;
}
