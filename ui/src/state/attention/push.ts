/** Push to this browser while the page is closed (docs/use/notifications.md). */

import { call } from '../../api/call';
import type { Schemas } from '../../api/types';
import { spoken, t, worded } from '../../language/t';
// Types alone: a service worker imports nothing, so nothing of it may be shared.
import type { KEPT_SENTENCES as KeptSentences, Reason } from '../../worker/sentences';
import { go, goTo } from '../route';
import { Store } from '../store';

export type PushState =
  | { readonly is: 'unknown' | 'off' | 'on' | 'busy' }
  /** Nothing can be done here; `why` says what would help. */
  | { readonly is: 'impossible'; readonly why: string };

export const push = new Store<PushState>({ is: 'unknown' });

const KEY = 'atoll.push';
const PATH = 'v1/push-subscriptions';
const KEPT_SENTENCES: typeof KeptSentences = 'atoll-sentences';

/** Why this page can be neither installed nor pushed to; null when it can. */
export function whyNot(): string | null {
  if (!window.isSecureContext) {
    return t`This address (${location.origin}) has no TLS, and browsers allow installing and push over https or on localhost only. Open the page there.`;
  }
  if (!('serviceWorker' in navigator)) return t`This browser has no service workers.`;
  return null;
}

/** Begins the service worker, and says what is so. Called once, after the login. */
export async function beginPush(): Promise<void> {
  const why = whyNot();
  if (why !== null) {
    push.set({ is: 'impossible', why });
    return;
  }
  navigator.serviceWorker.addEventListener('message', onMessage);
  try {
    const worker = await navigator.serviceWorker.register(new URL('sw.js', document.baseURI));
    // Without them it speaks English.
    void keepSentences(worker.scope).catch(() => undefined);
    if (!('pushManager' in worker)) {
      push.set({
        is: 'impossible',
        why: t`Install the page first: this browser pushes to installed pages only.`,
      });
      return;
    }
    const known = await worker.pushManager.getSubscription();
    push.set({ is: known !== null && storedId() !== null ? 'on' : 'off' });
    // The browser or the server may have new keys.
    if (known !== null && storedId() !== null) await subscribe(worker);
  } catch (reason) {
    push.set({ is: 'impossible', why: t`No service worker could be started: ${wordsOf(reason)}` });
  }
}

/** What the service worker says of a push, in the language of the page. */
export const SENTENCES = worded<Readonly<Record<Reason, string>>>(() => ({
  needs_you: t`An agent needs you.`,
  done: t`An agent is done.`,
  failed: t`An agent failed.`,
  setup_failed: t`Its set-up failed.`,
  pushed: t`A pushed branch waits for you.`,
  ends_soon: t`Its time is nearly over.`,
  mentioned: t`Somebody mentions you.`,
  other: t`Something is new.`,
}));

/** Keeps them in the language that is spoken; the worker knows the English itself. */
async function keepSentences(scope: string): Promise<void> {
  const [kept, place] = [await caches.open(KEPT_SENTENCES), new URL(KEPT_SENTENCES, scope)];
  if (spoken() === 'en') await kept.delete(place);
  else await kept.put(place, Response.json(SENTENCES()));
}

/** Turns push on. Raises what went wrong. */
export async function turnOnPush(): Promise<void> {
  push.set({ is: 'busy' });
  try {
    if ((await Notification.requestPermission()) !== 'granted') {
      throw new Error(t`The browser does not allow notifications of this page: see its settings.`);
    }
    await subscribe(await navigator.serviceWorker.ready);
    push.set({ is: 'on' });
  } catch (reason) {
    push.set({ is: 'off' });
    throw reason;
  }
}

/** Turns push off, here and at the server. */
export async function turnOffPush(): Promise<void> {
  const id = storedId();
  keepId(null);
  if (push.get().is !== 'impossible') push.set({ is: 'off' });
  if (id !== null) await call('DELETE', `${PATH}/${encodeURIComponent(id)}`).catch(() => undefined);
  const worker = await navigator.serviceWorker.getRegistration();
  await (await worker?.pushManager.getSubscription())?.unsubscribe();
}

/** At a logout: nobody's news are pushed to a browser that anybody may use next. */
export async function leavePush(): Promise<void> {
  if (storedId() !== null) await turnOffPush().catch(() => undefined);
}

/** Changes the organization: the news of the former one are pushed here no more. The page that
 *  comes then subscribes anew. */
export async function movePush(change: () => Promise<unknown>): Promise<void> {
  const id = storedId();
  if (id !== null) await call('DELETE', `${PATH}/${encodeURIComponent(id)}`).catch(() => undefined);
  try {
    await change();
  } catch (reason) {
    if (id !== null) await navigator.serviceWorker.ready.then(subscribe).catch(() => undefined);
    throw reason;
  }
}

async function subscribe(worker: ServiceWorkerRegistration): Promise<void> {
  const told = (await call('GET', PATH)) as Schemas['PushSubscriptionList'];
  const key = bytesOf(told.public_key);
  const before = await worker.pushManager.getSubscription();
  if (before !== null && !sameBytes(before.options.applicationServerKey, key)) {
    await before.unsubscribe();
  }
  const made = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  const { endpoint, keys } = made.toJSON();
  const body = { endpoint, keys: { p256dh: keys?.['p256dh'], auth: keys?.['auth'] } };
  const view = (await call('POST', PATH, body)) as Schemas['PushSubscriptionView'];
  keepId(view.subscription_id);
}

function onMessage({ data }: MessageEvent): void {
  const { open, dashboard, item } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof dashboard === 'string') {
    goTo('dashboards', dashboard, typeof item === 'string' ? item : null);
  } else if (typeof open === 'string') go(open);
}

function storedId(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keepId(id: string | null): void {
  try {
    if (id === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, id);
  } catch {
    // A private window may keep nothing; browsers without storage have no push either.
  }
}

/** Reads base64url. Pure. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function sameBytes(one: ArrayBuffer | null, other: Uint8Array): boolean {
  if (one?.byteLength !== other.length) return false;
  return new Uint8Array(one).every((byte, i) => byte === other[i]);
}

function wordsOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
