/** Which sandboxes changed their state since this person last looked at them; kept in this browser. */

import type { Sandbox } from '../../api/types';
import { standingOf } from '../standing';
import { Store } from '../store';

const KEY = 'atoll.looked';
/** States that change by themselves while nobody has to know. */
const QUIET: readonly string[] = ['working', 'calm', 'off'];

/** The state in which each sandbox was last looked at, by its id. */
export const looked = new Store<Readonly<Record<string, string>>>(stored());

function stored(): Record<string, string> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (typeof value !== 'object' || value === null) return {};
    const entries = Object.entries(value).filter(([, one]) => typeof one === 'string');
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

/** Whether it came to a state that concerns its person, and was not looked at since. Pure. */
export function isUnread(sandbox: Sandbox, seen: Readonly<Record<string, string>>): boolean {
  const { state, tone } = standingOf(sandbox);
  return !QUIET.includes(tone) && seen[sandbox.sandbox_id] !== state;
}

/** Keeps that its present state was looked at, and forgets sandboxes that are gone. */
export function look(sandbox: Sandbox, list: readonly Sandbox[]): void {
  const { sandbox_id: id } = sandbox;
  const { state } = standingOf(sandbox);
  if (looked.get()[id] === state) return;
  const known = new Set(list.map((one) => one.sandbox_id));
  looked.set((now) => {
    const kept = Object.entries(now).filter(([one]) => known.has(one));
    return { ...Object.fromEntries(kept), [id]: state };
  });
  localStorage.setItem(KEY, JSON.stringify(looked.get()));
}
