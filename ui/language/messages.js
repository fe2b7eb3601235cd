/** Gathers what the page says from its sources: every t`…` and plural(n, { … }). */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import ts from 'typescript';
import { isWritten } from './text.js';

const PLACE_LENGTH = 60;

/** The messages of all sources below a directory, by file and in the order of their lines. */
export async function messagesOf(root) {
  const names = await readdir(path.join(root, 'src'), { recursive: true });
  const found = new Map();
  for (const name of names.map((one) => path.posix.join('src', one)).sort()) {
    if (!/\.tsx?$/.test(name) || /\.test\.tsx?$/.test(name)) continue;
    for (const { id, places } of messagesIn(name, await readFile(path.join(root, name), 'utf8'))) {
      const known = found.get(id) ?? { id, places: new Set(), files: new Set() };
      for (const place of places) known.places.add(place);
      known.files.add(name);
      found.set(id, known);
    }
  }
  return [...found.values()].map(({ id, places, files }) => ({
    id,
    places: [...places],
    files: [...files],
  }));
}

/** The messages of one source, `{ id, places }` each. */
export function messagesIn(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    if (isWritten(node)) {
      found.push(ts.isCallExpression(node) ? counted(node) : sentence(node.template));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function sentence(template) {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return { id: template.text, places: [] };
  const { head, templateSpans: spans } = template;
  return {
    id: head.text + spans.map(({ literal }, at) => `{${at}}${literal.text}`).join(''),
    places: spans.map(({ expression }, at) => `{${at}}: ${shortOf(expression)}`),
  };
}

function counted(call) {
  const forms = new Map(
    call.arguments[1].properties.map(({ name, initializer }) => [name.text, initializer.text]),
  );
  const said = ['one', 'other'].map((category) => `${category} {${forms.get(category)}}`);
  return {
    id: `{count, plural, ${said.join(' ')}}`,
    places: [`#: ${shortOf(call.arguments[0])}`],
  };
}

/** What is put in, as the source spells it. */
function shortOf(expression) {
  const text = expression.getText().replace(/\s+/g, ' ');
  return text.length > PLACE_LENGTH ? `${text.slice(0, PLACE_LENGTH)}…` : text;
}
