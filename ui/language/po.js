/**
 * Catalogues in gettext's form (.po, .pot), with messages in ICU's form: `{0}` and `{name}` are
 * places, and `{count, plural, one {…} other {…}}` counts. Pure.
 *
 * Source: GNU gettext manual, “The Format of PO Files”; ICU User Guide, “Formatting Messages”.
 */

/** A catalogue of messages, each `{ id, places, files }`, without translations. */
export function printed(messages) {
  const head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n';
  const entries = messages.map(({ id, places, files }) =>
    [
      ...places.map((place) => `#. ${place}`),
      ...files.map((file) => `#: ${file}`),
      `msgid ${JSON.stringify(id)}`,
      'msgstr ""',
      '',
    ].join('\n'),
  );
  return [head, ...entries].join('\n');
}

/** The translation of each message in a catalogue; those without one are left out. */
export function translations(text) {
  const found = new Map();
  for (const entry of text.split(/\r?\n\s*\r?\n/)) {
    const id = valueOf(entry, 'msgid');
    const words = valueOf(entry, 'msgstr');
    if (id !== '' && words !== '' && !/^#,.*\bfuzzy\b/m.test(entry)) found.set(id, words);
  }
  return found;
}

/** Every message in a catalogue, translated or not. */
export function ids(text) {
  return text
    .split(/\r?\n\s*\r?\n/)
    .map((entry) => valueOf(entry, 'msgid'))
    .filter((id) => id !== '');
}

/** The string after a keyword, which may go on over several lines. */
function valueOf(entry, keyword) {
  const lines = entry.split(/\r?\n/);
  const at = lines.findIndex((line) => line.startsWith(`${keyword} `));
  if (at < 0) return '';
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !line.startsWith('"'));
  const parts = [lines[at].slice(keyword.length + 1), ...rest.slice(0, end < 0 ? undefined : end)];
  return parts.map((part) => JSON.parse(part)).join('');
}

const PLURAL = /^\{\s*count\s*,\s*plural\s*,/;

/** A message as the page takes it: a string, or for a count one form for each category. */
export function compiled(words) {
  const begin = PLURAL.exec(words);
  if (begin === null) return words;
  const forms = {};
  let category = '';
  let depth = 0;
  let from = 0;
  for (let at = begin[0].length; at < words.length - 1; at += 1) {
    if (words[at] === '{' && (depth += 1) === 1) {
      category = words.slice(from || begin[0].length, at).trim();
      from = at + 1;
    } else if (words[at] === '}' && (depth -= 1) === 0) {
      forms[category] = words.slice(from, at);
      from = at + 1;
    }
  }
  if (!('other' in forms)) throw new Error(`a form for "other" is missing: ${words}`);
  return forms;
}

/** The places of a message, to compare with those of its translation. */
export function placesOf(words) {
  const one = compiled(words);
  const texts = typeof one === 'string' ? [one] : Object.values(one);
  return new Set(texts.flatMap((text) => text.match(/\{\w+\}/g) ?? []));
}

const ACCENTS = new Map(
  [...'aábƀcçdđeéfƒgĝhĥiîjĵkķlĺmɱnñoópƥqɋrřsštţuúvṽwŵxẋyýzž'].reduce((pairs, letter, at, all) => {
    if (at % 2 === 0) pairs.push([letter, all[at + 1]], capitals(letter, all[at + 1]));
    return pairs;
  }, []),
);

function capitals(letter, accented) {
  return [letter.toUpperCase(), accented.toUpperCase()];
}

/** A message with an accent on its letters: what stays plain on the page is in no catalogue. */
export function accented(words) {
  if (PLURAL.test(words)) {
    const forms = Object.entries(compiled(words));
    const said = forms.map(([category, form]) => `${category} {${accented(form)}}`);
    return `{count, plural, ${said.join(' ')}}`;
  }
  return words.replace(/\{\w+\}|./gsu, (part) => ACCENTS.get(part) ?? part);
}
