/** Light, dark, or as the system says; remembered in this browser. */

import { call } from '../api/call';
import { Store } from './store';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'atoll.theme';
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

export const theme = new Store<Theme>(stored());
/** What is on screen now. */
export const shade = new Store<'light' | 'dark'>(resolve());

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

function resolve(): 'light' | 'dark' {
  const chosen = theme.get();
  if (chosen !== 'system') return chosen;
  return prefersDark.matches ? 'dark' : 'light';
}

function apply(): void {
  const now = resolve();
  document.documentElement.dataset['theme'] = now;
  shade.set(now);
}

export function setTheme(next: Theme): void {
  localStorage.setItem(KEY, next);
  theme.set(next);
  apply();
}

/** The other shade than the one on screen; `system` again when that is the other. */
export function toggleTheme(): void {
  const other = shade.get() === 'dark' ? 'light' : 'dark';
  setTheme(prefersDark.matches === (other === 'dark') ? 'system' : other);
}

prefersDark.addEventListener('change', apply);
apply();

/** Tells the server which background is on screen: an agent that begins before anybody looks asks
 * for it. Returns how to stop. */
export function tellShade(): () => void {
  const tell = (): void => {
    // Told again with the next change, or the next page.
    call('PUT', 'v1/me/shade', { shade: shade.get() }).catch(() => undefined);
  };
  tell();
  return shade.subscribe(tell);
}
