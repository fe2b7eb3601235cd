import { readFileSync } from 'node:fs';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ts from 'typescript';
import { afterEach, describe, expect, it } from 'vitest';
import { messagesIn } from '../../language/messages.js';
import { accented, compiled, ids, placesOf, printed, translations } from '../../language/po.js';
import { unwritten } from '../../language/text.js';
import { plural, speak, spoken, t, worded } from './t';

const POLISH = `
msgid "Give {0} to {1}"
msgstr "Daj {1}: {0}"

#. #: count
msgid ""
"{count, plural, one {# file of {name}} "
"other {# files of {name}}}"
msgstr "{count, plural, one {# plik: {name}} few {# pliki: {name}} many {# plików: {name}} other {# pliku: {name}}}"

#, fuzzy
msgid "Close"
msgstr "Zamknij?"

msgid "Cancel"
msgstr ""
`;

function inPolish(): void {
  const words = [...translations(POLISH)].map(([id, said]) => [id, compiled(said)] as const);
  speak('pl', Object.fromEntries(words));
}

const files = (count: number): string =>
  plural(count, { one: '# file of {name}', other: '# files of {name}' }, { name: 'Ada' });

afterEach(() => speak('en', null));

describe('what the page says', () => {
  it('is the English of the source without a catalogue', () => {
    expect(t`Give ${'box'} to ${'Ada'}`).toBe('Give box to Ada');
    expect([0, 1, 2].map(files)).toEqual(['0 files of Ada', '1 file of Ada', '2 files of Ada']);
  });

  it('is the translation, with its own order and forms', () => {
    inPolish();
    expect(spoken()).toBe('pl');
    expect(t`Give ${'box'} to ${'Ada'}`).toBe('Daj Ada: box');
    expect([1, 2, 5].map(files)).toEqual(['1 plik: Ada', '2 pliki: Ada', '5 plików: Ada']);
  });

  it('stays English where the translation is missing or doubted', () => {
    inPolish();
    expect([t`Close`, t`Cancel`, t`Save ${1}`]).toEqual(['Close', 'Cancel', 'Save 1']);
  });

  it('holds elements in any order', () => {
    inPolish();
    const drawn = t`Give ${createElement('b', null, 'box')} to ${'Ada'}`;
    expect(renderToStaticMarkup(drawn)).toBe('Daj Ada: <b>box</b>');
  });

  it('is made anew for another language', () => {
    const words = worded(() => ({ give: t`Give ${'box'} to ${'Ada'}` }));
    expect(words().give).toBe('Give box to Ada');
    expect(words()).toBe(words());
    inPolish();
    expect(words().give).toBe('Daj Ada: box');
  });
});

describe('the catalogue', () => {
  const all = ids(readFileSync(new URL('messages.pot', import.meta.url), 'utf8'));

  it('can be accented as a whole, and keeps its places', () => {
    expect(all.length).toBeGreaterThan(1500);
    for (const id of all) {
      const said = compiled(accented(id));
      const forms = typeof said === 'string' ? [said] : Object.values(said);
      expect(forms.join('').replace(/\{\w+\}/g, '')).not.toMatch(/[a-z]/i);
      expect(placesOf(accented(id))).toEqual(placesOf(id));
    }
  });

  it('is read as it is written', () => {
    const messages = [{ id: 'A “b” \\ "c"\nd', places: ['{0}: x'], files: ['a.ts'] }];
    expect(ids(printed(messages))).toEqual(['A “b” \\ "c"\nd']);
  });

  it('has every form of a source', () => {
    const source = 'const a = t`Give ${given.name} now`; plural(n, { one: "# a", other: "# b" });';
    expect(messagesIn('a.ts', source)).toEqual([
      { id: 'Give {0} now', places: ['{0}: given.name'] },
      { id: '{count, plural, one {# a} other {# b}}', places: ['#: n'] },
    ]);
  });
});

/** The texts of a source that no catalogue holds. */
function missed(text: string): string[] {
  const name = 'a.tsx';
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const host = { ...ts.createCompilerHost({}), getSourceFile: () => source };
  const program = ts.createProgram([name], { noLib: true, jsx: ts.JsxEmit.Preserve }, host);
  return unwritten(source, program.getTypeChecker()).map((node) => node.getText());
}

describe('the lint rule', () => {
  it.each([
    ['<p>Close it</p>', ['Close it']],
    ['<p title="x">{a ? "yes" : t`No`}</p>', ['"x"', '"yes"']],
    ['notify(`${name} is gone.`)', ['`${name} is gone.`']],
    ['t`${n > 1 ? "many" : n} of it`', ['"many"']],
    ['notify("Saved.")', ['"Saved."']],
  ])('refuses the text in %s', (source, texts) => {
    expect(missed(source)).toEqual(texts);
  });

  it.each([
    '<p className="tab tab-on">{t`Close`}</p>',
    '<p>{plural(n, { one: "# file", other: "# files" })}</p>',
    '<code>git fetch origin</code>',
    'const kind: "Closed" | "Open" = "Closed"',
    'event.key === "Enter"',
    'const keys = ["Ctrl Shift Z"]',
    'throw new Error("index.html has no #root")',
    'import { a } from "A b"',
    'document.querySelector("main section")',
  ])('leaves %s', (source) => {
    expect(missed(source)).toEqual([]);
  });
});
