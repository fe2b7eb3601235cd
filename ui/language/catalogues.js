/**
 * Makes catalogues modules of the page: `de.po` is its translations, and `messages.pot` what the
 * page says with an accent on each letter, which shows the places that no translation reaches.
 */
import { accented, compiled, ids, translations } from './po.js';

export function catalogues() {
  return {
    name: 'catalogues',
    transform(text, id) {
      const file = id.replace(/\?.*/, '');
      if (!/\.pot?$/.test(file)) return null;
      const pairs = file.endsWith('.pot')
        ? ids(text).map((one) => [one, accented(one)])
        : [...translations(text)];
      const words = Object.fromEntries(pairs.map(([one, said]) => [one, compiled(said)]));
      return { code: `export default ${JSON.stringify(words)};`, map: null, moduleType: 'js' };
    },
  };
}
