/** Lines of rich text in the page: drawn as elements, and places among their letters. */

import type { Line, Run } from '../document/rich';

/** Draws lines into an editable element; lines that are the same stay as they are. */
export function drawLines(host: HTMLElement, lines: readonly Line[]): void {
  for (const [at, line] of lines.entries()) {
    const key = JSON.stringify([line.style, line.runs]);
    const there = host.children[at];
    if (there instanceof HTMLElement && there.dataset['key'] === key && isWhole(there, line))
      continue;
    const made = lineElement(line, key);
    if (there === undefined) host.append(made);
    else there.replaceWith(made);
  }
  while (host.childNodes.length > lines.length) host.lastChild?.remove();
}

/** An input method may have changed letters behind our back. */
function isWhole(element: HTMLElement, line: Line): boolean {
  return element.textContent === line.runs.map(({ text }) => text).join('');
}

function lineElement(line: Line, key: string): HTMLElement {
  const element = document.createElement('div');
  element.className = `rich-line rich-${line.style}`;
  element.dataset['key'] = key;
  for (const run of line.runs) element.append(runElement(run));
  // An empty line has a height, and a caret has a place in it.
  if (line.length === 0) element.append(document.createElement('br'));
  return element;
}

function runElement(run: Run): HTMLElement {
  const element = document.createElement('span');
  element.className = runClass(run);
  element.textContent = run.text;
  if (run.link !== undefined) element.title = run.link;
  return element;
}

export function runClass({ bold, italic, code, link }: Run): string {
  return [
    bold === true && 'run-bold',
    italic === true && 'run-italic',
    code === true && 'run-code',
    link !== undefined && 'run-link',
  ]
    .filter(Boolean)
    .join(' ');
}

/** The place in the text of a place in the page. */
export function offsetOf(host: HTMLElement, node: Node, offset: number): number {
  if (node === host) return startOf(host, offset);
  const line = lineOf(host, node);
  if (line === null) return 0;
  const range = document.createRange();
  range.setStart(line, 0);
  range.setEnd(node, offset);
  return startOf(host, [...host.children].indexOf(line)) + range.toString().length;
}

/** The place where the line of that number begins. */
function startOf(host: HTMLElement, number: number): number {
  return [...host.children]
    .slice(0, number)
    .reduce((sum, line) => sum + line.textContent.length + 1, 0);
}

function lineOf(host: HTMLElement, node: Node): Element | null {
  let at: Node | null = node;
  while (at !== null && at.parentNode !== host) at = at.parentNode;
  return at instanceof Element ? at : (at?.parentElement ?? null);
}

/** The place in the page of a place in the text. */
export function pointOf(
  host: HTMLElement,
  index: number,
): { readonly node: Node; readonly offset: number } {
  let left = index;
  for (const line of host.children) {
    const { length } = line.textContent;
    if (left <= length) return inLine(line, left);
    left -= length + 1;
  }
  const last = host.lastElementChild;
  return last === null ? { node: host, offset: 0 } : inLine(last, last.textContent.length);
}

function inLine(line: Element, offset: number): { readonly node: Node; readonly offset: number } {
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let left = offset;
  let last: Node | null = null;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const { length } = node.textContent ?? '';
    if (left <= length) return { node, offset: left };
    left -= length;
    last = node;
  }
  return last === null
    ? { node: line, offset: 0 }
    : { node: last, offset: (last.textContent ?? '').length };
}
