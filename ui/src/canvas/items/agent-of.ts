/** The agent that an item shows: the terminal it names, else the first agent of its sandbox. */

import type { Sandbox } from '../../api/types';
import { agentsOf, leadOf } from '../../state/attention/agents';
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

/** Pure. */
export function shownOf(
  { kind, terminalId, follows }: Pick<Item, 'kind' | 'terminalId' | 'follows'>,
  sandbox: Sandbox | null | undefined,
): Shown {
  if (terminalId !== null && (!follows || !sandbox || agentsOf(sandbox).length === 0))
    return { is: 'terminal', id: terminalId };
  if (kind !== 'agent' || sandbox === null) return { is: 'none' };
  if (sandbox === undefined) return { is: 'coming' };
  const agent = agentsOf(sandbox).find(({ mode }) => mode === 'tui') ?? leadOf(sandbox);
  if (agent === null) return { is: sandbox.agent === null ? 'none' : 'coming' };
  return { is: agent.mode === 'tui' ? 'terminal' : 'cards', id: agent.id };
}

export function useShown(item: Item): Shown {
  return shownOf(item, useKnown(item.sandboxId));
}
