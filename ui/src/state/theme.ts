/** Light, dark, or as the system says; remembered in this browser. */

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
