/**
 * Writes src/language/messages.pot: everything the page says. With `--check` it only compares, and
 * fails when the file is not current, a message has a blank at an edge, or a translation has a place
 * that its message has not.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { messagesOf } from './messages.js';
import { placesOf, printed, translations } from './po.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = path.join(ROOT, 'src/language');
const TEMPLATE = path.join(FOLDER, 'messages.pot');

const messages = await messagesOf(ROOT);
const text = printed(messages);
if (process.argv.includes('--check')) {
  const current = await readFile(TEMPLATE, 'utf8').catch(() => '');
  const troubles = current === text ? [] : [`${TEMPLATE} is not current: run npm run words`];
  troubles.push(...messages.flatMap(({ id, files }) => edgesOf(id, files[0])));
  for (const name of await readdir(FOLDER)) {
    if (name.endsWith('.po')) troubles.push(...(await troublesOf(name)));
  }
  for (const trouble of troubles) console.error(trouble);
  process.exitCode = troubles.length > 0 ? 1 : 0;
} else {
  await writeFile(TEMPLATE, text);
}

/** A blank at an edge is lost in a translation, and says that a sentence is put together. */
function edgesOf(id, file) {
  return id.trim() === id ? [] : [`${file}: “${id}” begins or ends with a blank`];
}

async function troublesOf(name) {
  const pairs = translations(await readFile(path.join(FOLDER, name), 'utf8'));
  return [...pairs].flatMap(([id, words]) => {
    const known = placesOf(id);
    const strange = [...placesOf(words)].filter((place) => !known.has(place));
    return strange.map((place) => `${name}: ${place} is no place of “${id}”`);
  });
}
