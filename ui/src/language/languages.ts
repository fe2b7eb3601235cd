/** The language of the page: the first that the browser prefers and that there is a catalogue of. */

import { speak, type Catalogue } from './t';

type Load = () => Promise<{ readonly default: Catalogue }>;

/** A language is one file here: `de.po`. English stands in the sources. */
const FILES = import.meta.glob<{ readonly default: Catalogue }>('./*.po');
/** English with accents (CLDR's name for it): what stays plain cannot be translated. */
const PSEUDO = 'en-XA';
const CATALOGUES: ReadonlyMap<string, Load | null> = new Map<string, Load | null>([
  ['en', null],
  [PSEUDO, () => import('./messages.pot')],
  ...Object.entries(FILES).map(([path, load]) => [path.slice(2, -3), load] as const),
]);

/** Speaks the first of these languages that is there; English where none is. */
export async function speakFirst(wanted: readonly string[]): Promise<void> {
  const name = wanted.map(nearest).find((one) => one !== null) ?? 'en';
  const load = CATALOGUES.get(name) ?? null;
  if (load === null) return;
  speak(name, (await load()).default);
  document.documentElement.lang = name;
}

/** A catalogue for a language: its own, or that of the language it is a variety of. */
function nearest(language: string): string | null {
  const names = [language, language.replace(/-.*/, '')];
  return names.find((name) => CATALOGUES.has(name)) ?? null;
}
