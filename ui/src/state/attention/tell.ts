/** Tells the person of news: a notification of the desktop, and a sound. */

import { go, goTo, route } from '../route';
import { SENTENCES, type News } from './news';
import { notifySettings } from './settings';

/** Whether the person looks at it now: then nothing is told. */
export function isOnScreen({ sandboxId, name, item }: News): boolean {
  if (document.visibilityState !== 'visible' || !document.hasFocus()) return false;
  const { page, sandbox, tab } = route.get();
  if (item !== undefined) return page === 'inbox' || (page === 'dashboards' && tab === sandboxId);
  return page === 'inbox' || sandbox === sandboxId || sandbox === name;
}

export function tell(news: News): void {
  const { desktop, sound } = notifySettings.get();
  if (sound) beep();
  if (desktop) void notifyDesktop(news);
}

async function notifyDesktop({ sandboxId, name, reason, item }: News): Promise<void> {
  if (!('Notification' in window) || Notification.permission !== 'granted') return;
  // The same tag as a push has: one that was pushed, too, is shown once.
  const data =
    item === undefined ? { sandbox: name } : { sandbox: name, dashboard: sandboxId, item };
  // eslint-disable-next-line words/written -- a key, which nobody reads
  const options = { body: SENTENCES()[reason], tag: `atoll ${name}`, data };
  const worker = await workerOf();
  if (worker !== undefined) {
    await worker.showNotification(name, options);
    return;
  }
  const shown = new Notification(name, options);
  shown.onclick = () => {
    window.focus();
    if (item === undefined) go(sandboxId);
    else goTo('dashboards', sandboxId, item);
  };
}

/** The service worker, where there is one: on phones only it may notify. */
export async function workerOf(): Promise<ServiceWorkerRegistration | undefined> {
  if (!('serviceWorker' in navigator)) return undefined;
  return navigator.serviceWorker.getRegistration();
}

const HERTZ = 660;
const SECONDS = 0.18;
let audio: AudioContext | null = null;

/** Two short tones. A browser plays none before the person used the page. */
export function beep(): void {
  try {
    audio ??= new AudioContext();
    const { currentTime: now, destination } = audio;
    const gain = audio.createGain();
    gain.gain.setValueAtTime(0.08, now);
    gain.connect(destination);
    for (const [i, hertz] of [HERTZ, HERTZ * 1.25].entries()) {
      const tone = audio.createOscillator();
      tone.frequency.value = hertz;
      tone.connect(gain);
      tone.start(now + i * SECONDS);
      tone.stop(now + (i + 1) * SECONDS);
    }
  } catch {
    // No sound device, or too many contexts: the notification is shown still.
  }
}
