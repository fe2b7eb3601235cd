/**
 * What the page says, in the language it is shown in.
 *
 * The English stands in the sources, marked by `t` and `plural`; `npm run words` gathers it in
 * `messages.pot`. Another language is a catalogue beside that, which `languages.ts` loads. Without one
 * nothing is looked up.
 */

import { createElement, Fragment, type ReactNode } from 'react';

/** The forms of a message that counts: `#` is the number, `{name}` what is put in. */
export interface Forms {
  readonly one: string;
  readonly other: string;
}

type Word = string | number;
/** Translations by the English: words with places `{0}`, or one form for each category of plurals. */
export type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const ENGLISH = 'en';
let language = ENGLISH;
let catalogue: Catalogue | null = null;
let rules: Intl.PluralRules | null = null;

/** Speaks a language from now on; what was said before is not said again. */
export function speak(name: string, words: Catalogue | null): void {
  language = name;
  catalogue = words;
  rules = words === null ? null : new Intl.PluralRules(name);
}

/** The language that the page is shown in, such as `en` or `pt-BR`. */
export function spoken(): string {
  return language;
}

/** One sentence, with places for names and numbers, or for elements in the midst of it. */
export function t(strings: TemplateStringsArray, ...values: readonly Word[]): string;
export function t(strings: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode;
export function t(strings: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode {
  const pieces = catalogue === null ? null : translated(catalogue, strings, values);
  const said = pieces ?? interleaved(strings, values);
  return values.every(isWord) ? said.map(String).join('') : createElement(Fragment, null, ...said);
}

/** A sentence that counts something, in the form that the number takes. */
export function plural(
  count: number,
  forms: Forms,
  values: Readonly<Record<string, Word>> = {},
): string {
  const found = catalogue?.[`{count, plural, one {${forms.one}} other {${forms.other}}}`];
  const form =
    typeof found === 'object'
      ? (found[rules?.select(count) ?? 'other'] ?? found['other'])
      : undefined;
  const english = count === 1 ? forms.one : forms.other;
  return (form ?? english).replace(/#|\{(\w+)\}/g, (place, name: string | undefined) =>
    String(name === undefined ? count : (values[name] ?? place)),
  );
}

/** Words of a module that are made when they are first read, and anew for another language. */
export function worded<T>(make: () => T): () => T {
  let made: { readonly language: string; readonly words: T } | null = null;
  return () => {
    if (made?.language !== language) made = { language, words: make() };
    return made.words;
  };
}

function isWord(value: ReactNode): value is Word {
  return typeof value === 'string' || typeof value === 'number';
}

function interleaved(
  strings: readonly string[],
  values: readonly ReactNode[],
): readonly ReactNode[] {
  return strings.flatMap((piece, at) => (at === 0 ? [piece] : [values[at - 1], piece]));
}

function translated(
  words: Catalogue,
  strings: readonly string[],
  values: readonly ReactNode[],
): readonly ReactNode[] | null {
  const key = strings.reduce((said, piece, at) => `${said}{${at - 1}}${piece}`);
  const found = words[key];
  if (typeof found !== 'string') return null;
  // Every second piece is the number of a place.
  return found
    .split(/\{(\d+)\}/)
    .map((piece, at) => (at % 2 === 0 ? piece : values[Number(piece)]));
}
