/** Where the page is: `#/sandboxes/<id>/<tab>`; the hash, so any server path works. */

import { Store } from './store';

export interface Route {
  readonly sandbox: string | null;
  /** A terminal's id, `log`, or null for whatever fits. */
  readonly tab: string | null;
}

export const route = new Store<Route>(parse(location.hash));

export function parse(hash: string): Route {
  const [, kind, sandbox, tab] = hash.replace(/^#/, '').split('/');
  if (kind !== 'sandboxes' || sandbox === undefined || sandbox === '') {
    return { sandbox: null, tab: null };
  }
  return { sandbox: decode(sandbox), tab: tab === undefined || tab === '' ? null : decode(tab) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Goes there; a change of tab alone makes no entry in the browser's history. */
export function go(sandbox: string | null, tab: string | null = null): void {
  const now = route.get();
  const parts = [sandbox, tab].filter((part) => part !== null).map(encodeURIComponent);
  const hash = sandbox === null ? '#/' : `#/sandboxes/${parts.join('/')}`;
  if (now.sandbox === sandbox && now.sandbox !== null) history.replaceState(null, '', hash);
  else history.pushState(null, '', hash);
  route.set({ sandbox, tab: sandbox === null ? null : tab });
}

window.addEventListener('popstate', () => route.set(parse(location.hash)));
