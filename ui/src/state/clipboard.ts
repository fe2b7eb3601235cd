/** What a person decided about programs that copy, by terminal; kept in this browser. */

import { Store } from './store';

export type CopyRule = 'always' | 'never';

const KEY = 'atoll.copies';
/** Beyond that, the decisions made longest ago are dropped. */
const KEPT = 200;

/** By terminal id; a terminal without one asks. */
export const copyRules = new Store<Readonly<Record<string, CopyRule>>>(stored());

function stored(): Record<string, CopyRule> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    const rules = Object.entries(value).filter(
      (entry): entry is [string, CopyRule] => entry[1] === 'always' || entry[1] === 'never',
    );
    return Object.fromEntries(rules.slice(-KEPT));
  } catch {
    return {};
  }
}

/** Keeps a decision. */
export function decideCopies(terminalId: string, rule: CopyRule): void {
  const others = Object.entries(copyRules.get()).filter(([id]) => id !== terminalId);
  keep(Object.fromEntries([...others, [terminalId, rule] as const].slice(-KEPT)));
}

/** Forgets every decision: each terminal asks again. */
export function forgetCopies(): void {
  keep({});
}

function keep(rules: Readonly<Record<string, CopyRule>>): void {
  copyRules.set(rules);
  localStorage.setItem(KEY, JSON.stringify(rules));
}

/** Puts a text into the person's clipboard. Rejects where the browser allows none. */
export async function copyText(text: string): Promise<void> {
  // Absent where the page came without TLS from another machine.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) throw new Error('this browser gives pages no clipboard without TLS');
  await clipboard.writeText(text);
}
