/** How much contrast, room and motion the page has; remembered in this browser.
 *  Colours are `theme.ts`'s. Each is an attribute of the root, which `design/` refers to. */

import { Store } from '../state/store';

interface Choice<Value extends string> {
  readonly values: readonly Value[];
  readonly first: Value;
  /** What holds, given what was chosen. */
  readonly resolve: (chosen: Value) => string;
}

/** A choice of this browser's: its store, and the root's attribute that follows it. */
class Preference<Value extends string> {
  readonly chosen: Store<Value>;
  readonly #name: string;
  readonly #choice: Choice<Value>;

  constructor(name: string, choice: Choice<Value>) {
    this.#name = name;
    this.#choice = choice;
    const kept = localStorage.getItem(`atoll.${name}`);
    this.chosen = new Store(choice.values.find((value) => value === kept) ?? choice.first);
    this.apply();
  }

  readonly apply = (): void => {
    document.documentElement.dataset[this.#name] = this.#choice.resolve(this.chosen.get());
  };

  readonly choose = (value: Value): void => {
    localStorage.setItem(`atoll.${this.#name}`, value);
    this.chosen.set(value);
    this.apply();
  };
}

const wantsContrast = window.matchMedia('(prefers-contrast: more)');
const wantsLess = window.matchMedia('(prefers-reduced-motion: reduce)');

export type Contrast = 'system' | 'standard' | 'more';
export const contrast = new Preference<Contrast>('contrast', {
  values: ['system', 'standard', 'more'],
  first: 'system',
  resolve: (chosen) =>
    chosen === 'system' ? (wantsContrast.matches ? 'more' : 'standard') : chosen,
});

export type Density = 'comfortable' | 'compact';
export const density = new Preference<Density>('density', {
  values: ['comfortable', 'compact'],
  first: 'comfortable',
  resolve: (chosen) => chosen,
});

export type Motion = 'system' | 'less';
export const motion = new Preference<Motion>('motion', {
  values: ['system', 'less'],
  first: 'system',
  resolve: (chosen) => (chosen === 'less' || wantsLess.matches ? 'less' : 'full'),
});

wantsContrast.addEventListener('change', contrast.apply);
wantsLess.addEventListener('change', motion.apply);
