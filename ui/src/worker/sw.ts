/**
 * The service worker: shows pushes, opens the sandbox that one names, and shows the page where no
 * server answers.
 *
 * A push holds the name of a sandbox and one of six fixed sentences (docs/use/notifications.md).
 */

import { answer, keepPage } from './shell';

declare const self: ServiceWorkerGlobalScope;

/** The only sentences that are shown, whatever a push says. */
const SENTENCES: Readonly<Record<string, string>> = {
  needs_you: 'An agent needs you.',
  done: 'An agent is done.',
  failed: 'An agent failed.',
  setup_failed: 'Its set-up failed.',
  pushed: 'A pushed branch waits for you.',
  ends_soon: 'Its time is nearly over.',
};
const MOST = 80;

self.addEventListener('install', (event) => {
  void self.skipWaiting();
  event.waitUntil(keepPage());
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', answer);
self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { sandbox } = event.notification.data as { readonly sandbox: string };
  event.waitUntil(open(sandbox));
});

async function show(data: PushMessageData | null): Promise<void> {
  const { sandbox, text } = read(data);
  // Whoever looks at the page sees it there.
  if ((await pages()).some(({ focused }) => focused)) return;
  const icon = new URL('assets/icon-192.png', self.registration.scope).href;
  await self.registration.showNotification(sandbox, {
    body: text,
    tag: `atoll ${sandbox}`,
    icon,
    badge: icon,
    data: { sandbox },
  });
}

function read(data: PushMessageData | null): { sandbox: string; text: string } {
  let told: Readonly<Record<string, unknown>> = {};
  try {
    told = (data?.json() ?? {}) as typeof told;
  } catch {
    // A push service may send nothing at all: something must be shown still.
  }
  const { sandbox, reason } = told;
  return {
    sandbox: typeof sandbox === 'string' && sandbox !== '' ? sandbox.slice(0, MOST) : 'Atoll',
    text: (typeof reason === 'string' ? SENTENCES[reason] : undefined) ?? 'Something is new.',
  };
}

/** Goes to the sandbox in a page that is open, else in a new one. */
async function open(sandbox: string): Promise<void> {
  const address = new URL(self.registration.scope);
  address.hash = `#/sandboxes/${encodeURIComponent(sandbox)}`;
  const page = (await pages())[0];
  if (page === undefined) {
    await self.clients.openWindow(address.href);
    return;
  }
  await page.focus();
  page.postMessage({ open: sandbox });
}

function pages(): Promise<readonly WindowClient[]> {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}
