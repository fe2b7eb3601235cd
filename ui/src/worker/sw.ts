/**
 * The service worker: shows pushes, opens the sandbox or dashboard that one names, and shows the page
 * where no server answers.
 *
 * A push holds the name of a sandbox or dashboard and one of seven fixed sentences
 * (docs/use/notifications.md).
 */

import { KEPT_SENTENCES, reasonOf, sentenceOf, type Reason } from './sentences';
import { answer, keepPage } from './shell';

declare const self: ServiceWorkerGlobalScope;

const MOST = 80;
const ID = /^[a-z]+_[a-z0-9]{1,40}$/;

/** Where a click leads: to the sandbox of a name, or to an item of a dashboard. */
interface Target {
  readonly sandbox: string;
  readonly dashboard?: string;
  readonly item?: string;
}

self.addEventListener('install', (event) => {
  void self.skipWaiting();
  event.waitUntil(keepPage());
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', answer);
self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data as Target));
});

async function show(data: PushMessageData | null): Promise<void> {
  const { target, reason } = read(data);
  const { sandbox } = target;
  // Whoever looks at the page sees it there.
  if ((await pages()).some(({ focused }) => focused)) return;
  const icon = new URL('assets/icon-192.png', self.registration.scope).href;
  await self.registration.showNotification(sandbox, {
    body: await sentence(reason),
    tag: `atoll ${sandbox}`,
    icon,
    badge: icon,
    data: target,
  });
}

function read(data: PushMessageData | null): { target: Target; reason: Reason } {
  let told: Readonly<Record<string, unknown>> = {};
  try {
    told = (data?.json() ?? {}) as typeof told;
  } catch {
    // A push service may send nothing at all: something must be shown still.
  }
  const { reason } = told;
  const sandbox = told['sandbox'];
  const name = typeof sandbox === 'string' && sandbox !== '' ? sandbox.slice(0, MOST) : 'Atoll';
  const [dashboard, item] = [told['dashboard'], told['item']];
  const board = isId(dashboard) && isId(item) ? { dashboard, item } : {};
  return {
    target: { sandbox: name, ...board },
    reason: reasonOf(reason),
  };
}

async function sentence(reason: Reason): Promise<string> {
  const place = new URL(KEPT_SENTENCES, self.registration.scope);
  const kept = await caches.match(place, { cacheName: KEPT_SENTENCES });
  return sentenceOf(reason, await kept?.json().catch(() => null));
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** Goes there in a page that is open, else in a new one. */
async function open({ sandbox, dashboard, item = '' }: Target): Promise<void> {
  const address = new URL(self.registration.scope);
  const place = dashboard === undefined ? `sandboxes/${encodeURIComponent(sandbox)}` : null;
  address.hash = `#/${place ?? `dashboards/${dashboard ?? ''}/${item}`}`;
  const page = (await pages())[0];
  if (page === undefined) {
    await self.clients.openWindow(address.href);
    return;
  }
  await page.focus();
  page.postMessage({ open: sandbox, dashboard, item });
}

function pages(): Promise<readonly WindowClient[]> {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}
