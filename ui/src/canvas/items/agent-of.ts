/** The agent that an item shows: the terminal it names, else the first agent of its sandbox. */

import type { Sandbox } from '../../api/types';
import { agentsOf, hasCardsOnly, leadOf } from '../../state/attention/agents';
import { useKnown } from '../../state/team/visited';
import type { Item } from '../document/items';

/** What an item of a terminal or agent shows. */
export type Shown =
  | { readonly is: 'terminal'; readonly id: string }
  /** An agent without a terminal: only its cards. */
  | { readonly is: 'cards'; readonly id: string }
  /** The agent of a task is on its way. */
  | { readonly is: 'coming' }
  | { readonly is: 'none' };

type ShownItem = Pick<Item, 'kind' | 'terminalId' | 'follows' | 'agent'>;

/** Pure. */
export function shownOf(
  { kind, terminalId, follows, agent: named }: ShownItem,
  sandbox: Sandbox | null | undefined,
): Shown {
  if (terminalId !== null && hasCardsOnly(named)) return { is: 'cards', id: terminalId };
  if (terminalId !== null && (!follows || !sandbox || agentsOf(sandbox).length === 0))
    return { is: 'terminal', id: terminalId };
  return kind === 'agent' ? leadShown(sandbox) : { is: 'none' };
}

/** The agent that a sandbox has now. */
function leadShown(sandbox: Sandbox | null | undefined): Shown {
  if (sandbox === null) return { is: 'none' };
  if (sandbox === undefined) return { is: 'coming' };
  const agent = agentsOf(sandbox).find(({ mode }) => mode === 'tui') ?? leadOf(sandbox);
  if (agent === null) return { is: sandbox.agent === null ? 'none' : 'coming' };
  return { is: agent.mode === 'tui' ? 'terminal' : 'cards', id: agent.id };
}

/** The agent to start in place of the one that an item showed; null where nobody knows it, or it
 *  showed none. A title is whatever its person made of it: only documents from before items had an
 *  agent have its name there alone. Pure. */
export function agentOf(
  { kind, agent, title, terminalId }: Pick<Item, 'kind' | 'agent' | 'title' | 'terminalId'>,
  sandbox: Sandbox | null,
): string | null {
  if (kind !== 'agent') return null;
  const there = sandbox === null ? [] : agentsOf(sandbox);
  const before = agent || there.find(({ id }) => id === terminalId)?.agent;
  if (before) return before;
  const inside = (sandbox?.agents_inside ?? []).map((one) => one.replace(/@.*$/, ''));
  return inside.includes(title) ? title : (sandbox?.agent ?? null);
}

export function useShown(item: Item): Shown {
  return shownOf(item, useKnown(item.sandboxId));
}
