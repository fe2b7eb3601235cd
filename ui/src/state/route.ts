/** Where the page is: `#/sandboxes/<id>/<tab>`, `#/terminals` …; the hash, so any path works. */

import { Store } from './store';

/** Pages of their own, each at `#/<name>`. */
const PAGES = [
  'dashboards',
  'inbox',
  'notifications',
  'secrets',
  'terminals',
  'workers',
  'compare',
  'account',
  'team',
  'admin',
  'cli',
  'design',
] as const;
export type PlainPage = (typeof PAGES)[number];

export interface Route {
  readonly page: 'sandboxes' | PlainPage;
  readonly sandbox: string | null;
  /** A terminal's or machine's id, `changes`, `files`, `commits`, `log`, `recordings`, or null for
   * whatever fits; of the page `compare`, the group, of `cli`, the code, of `admin`, the section,
   * of `workers`, the worker, and of `dashboards`, the dashboard. */
  readonly tab: string | null;
  /** An item of a dashboard that the address leads to. */
  readonly item: string | null;
}

export const route = new Store<Route>(parse(location.hash));

export function parse(hash: string): Route {
  const [, kind, sandbox, tab] = hash.replace(/^#/, '').split('/');
  const page = PAGES.find((one) => one === kind);
  if (page !== undefined) {
    const part = (text: string | undefined): string | null =>
      text === undefined || text === '' ? null : decode(text);
    return { page, sandbox: null, tab: part(sandbox), item: part(tab) };
  }
  if (kind !== 'sandboxes' || sandbox === undefined || sandbox === '') {
    return { page: 'sandboxes', sandbox: null, tab: null, item: null };
  }
  return {
    page: 'sandboxes',
    sandbox: decode(sandbox),
    tab: tab === undefined || tab === '' ? null : decode(tab),
    item: null,
  };
}

export function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place, made from what was read: nothing else of a text gets into it. */
export function hashOf({ page, sandbox, tab, item }: Route): string {
  const parts = [page, sandbox, tab, item].filter((part) => part !== null).map(encodeURIComponent);
  return page === 'sandboxes' && sandbox === null ? '#/' : `#/${parts.join('/')}`;
}

/** Goes there; a change of tab alone makes no entry in the browser's history. */
export function go(sandbox: string | null, tab: string | null = null): void {
  const now = route.get();
  const hash = hashOf({ page: 'sandboxes', sandbox, tab, item: null });
  if (now.sandbox === sandbox && now.sandbox !== null) history.replaceState(null, '', hash);
  else history.pushState(null, '', hash);
  route.set({ page: 'sandboxes', sandbox, tab: sandbox === null ? null : tab, item: null });
}

/** Goes to a page of its own; `part` says of what, and `item` where on it. */
export function goTo(
  page: PlainPage,
  part: string | null = null,
  item: string | null = null,
): void {
  const hash = hashOf({ page, sandbox: null, tab: part, item });
  history.pushState(null, '', hash);
  route.set(parse(hash));
}

window.addEventListener('popstate', () => route.set(parse(location.hash)));
