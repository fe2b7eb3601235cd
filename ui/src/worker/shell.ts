/**
 * The page without a network: its own files, kept by this browser.
 *
 * The server's page is shown whenever it answers. What the API says is never kept, and no request
 * to it passes here: a file of the page is the same for everybody.
 */

declare const self: ServiceWorkerGlobalScope;

const KEPT = 'atoll-page';
/** A server that is silent for so long is away. */
const PATIENCE_MS = 8000;
/** The name of a built file says what is in it, so that it never changes. */
const BUILT = /-[\w-]{8}\.\w+$/;
const NAMED = /(?:src|href)="(?:\.\/)?(assets\/[^"]+)"/g;

export function answer(event: FetchEvent): void {
  const { request } = event;
  const [url, scope] = [new URL(request.url), new URL(self.registration.scope)];
  if (request.method !== 'GET' || url.origin !== scope.origin) return;
  if (request.mode === 'navigate' && url.pathname === scope.pathname) {
    event.respondWith(page(event));
  } else if (url.pathname.startsWith(`${scope.pathname}assets/`) && BUILT.test(url.pathname)) {
    event.respondWith(asset(request));
  }
}

/** Keeps the page from the beginning, where the server answers. */
export async function keepPage(): Promise<void> {
  const fresh = await fetch(self.registration.scope).catch(() => null);
  if (fresh !== null) await keep(fresh);
}

async function page(event: FetchEvent): Promise<Response> {
  try {
    const fresh = await fetch(event.request, { signal: AbortSignal.timeout(PATIENCE_MS) });
    event.waitUntil(keep(fresh.clone()));
    return fresh;
  } catch (reason) {
    const kept = await caches.match(self.registration.scope, { ignoreVary: true });
    if (kept === undefined) throw reason;
    return kept;
  }
}

async function asset(request: Request): Promise<Response> {
  const kept = await caches.match(request, { ignoreVary: true });
  if (kept !== undefined) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) await (await caches.open(KEPT)).put(request, fresh.clone());
  return fresh;
}

/** Keeps another version of the page, with the files that it begins with, in place of the last. */
async function keep(fresh: Response): Promise<void> {
  if (!fresh.ok || fresh.redirected) return;
  const { scope } = self.registration;
  const text = await fresh.clone().text();
  const kept = await caches.match(scope, { ignoreVary: true });
  if (kept !== undefined && (await kept.text()) === text) return;
  await caches.delete(KEPT);
  const cache = await caches.open(KEPT);
  const names = [...text.matchAll(NAMED)].map(([, name]) => new URL(name ?? '', scope).href);
  await cache.addAll(names.filter((name) => BUILT.test(name)));
  await cache.put(scope, fresh);
}
