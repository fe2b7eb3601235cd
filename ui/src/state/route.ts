/** Where the page is: `#/sandboxes/<id>/<tab>`, `#/wall` …; the hash, so any path works. */

import { Store } from './store';

/** Pages of their own, each at `#/<name>`. */
const PAGES = ['inbox', 'notifications', 'secrets', 'wall'] as const;
export type PlainPage = (typeof PAGES)[number];

export interface Route {
  readonly page: 'sandboxes' | PlainPage;
  readonly sandbox: string | null;
  /** A terminal's or machine's id, `changes`, `log`, `recordings`, or null for whatever fits. */
  readonly tab: string | null;
}

export const route = new Store<Route>(parse(location.hash));

export function parse(hash: string): Route {
  const [, kind, sandbox, tab] = hash.replace(/^#/, '').split('/');
  const page = PAGES.find((one) => one === kind);
  if (page !== undefined) return { page, sandbox: null, tab: null };
  if (kind !== 'sandboxes' || sandbox === undefined || sandbox === '') {
    return { page: 'sandboxes', sandbox: null, tab: null };
  }
  return {
    page: 'sandboxes',
    sandbox: decode(sandbox),
    tab: tab === undefined || tab === '' ? null : decode(tab),
  };
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
  route.set({ page: 'sandboxes', sandbox, tab: sandbox === null ? null : tab });
}

/** Goes to a page of its own. */
export function goTo(page: PlainPage): void {
  history.pushState(null, '', `#/${page}`);
  route.set(parse(`#/${page}`));
}

window.addEventListener('popstate', () => route.set(parse(location.hash)));
