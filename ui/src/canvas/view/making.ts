/** New items that need more than the document: terminals and agents of the home sandbox. */

import { notify, notifyFailure } from '../../state/announce';
import { loadTerminals } from '../../state/sandboxes';
import { Store, useStore } from '../../state/store';
import { addItem, changeItems } from '../document/acts';
import { sizeOf, type Item } from '../document/items';
import { gridOf } from '../items/grid';
import { dashboardsApi, type OpenedTerminal } from '../list/api';
import type { Stage } from './stage';

/** Terminals that are on their way: the first one starts the sandbox. */
const opening = new Store(0);

export function useOpening(): number {
  return useStore(opening);
}

/** Makes an item of a kind in the middle of the window, and goes into what is written there. */
export async function makeItem(
  dashboard: string,
  stage: Stage,
  kind: string,
  agent?: string,
): Promise<void> {
  const size = sizeOf(kind);
  const box = { ...stage.place(size), ...size };
  if (kind === 'terminal' || kind === 'agent') {
    const made = await openTerminal(dashboard, size, agent);
    if (made === null) return;
    const fields = { ...made, ...(agent === undefined ? {} : { title: agent, view: 'terminal' }) };
    const id = addItem(stage.board, { kind, box, fields }, stage.author);
    show(stage, id);
    stage.enter(id);
    return;
  }
  const id = addItem(stage.board, { kind, box }, stage.author);
  show(stage, id);
  if (kind === 'frame') stage.choose([id], false);
  else stage.enter(id);
}

function show(stage: Stage, id: string): void {
  const item = stage.board.item(id);
  if (item !== null) stage.reveal(item);
}

async function openTerminal(
  dashboard: string,
  size: Pick<Item, 'w' | 'h'>,
  agent?: string,
): Promise<OpenedTerminal | null> {
  opening.set((now) => now + 1);
  try {
    const made = await dashboardsApi.openTerminal(dashboard, {
      ...gridOf(size),
      ...(agent === undefined ? {} : { agent }),
    });
    const { sandbox_id: sandboxId, terminal_id: terminalId } = made;
    // The pane finds its terminal known.
    await loadTerminals(sandboxId).catch(() => undefined);
    return { sandbox_id: sandboxId, terminal_id: terminalId };
  } catch (reason) {
    notifyFailure('No terminal could be opened')(reason);
    return null;
  } finally {
    opening.set((now) => now - 1);
  }
}

/** Opens a terminal in place of one that has ended: the box and the name stay. */
export async function renewTerminal(dashboard: string, stage: Stage, gone: Item): Promise<void> {
  const agent = gone.kind === 'agent' && gone.title !== '' ? gone.title : undefined;
  const made = await openTerminal(dashboard, gone, agent);
  if (made === null) return;
  if (stage.board.item(gone.id) === null) {
    notify('Its item was removed meanwhile: the new terminal is in the sandbox.');
    return;
  }
  changeItems(stage.board, [gone.id], { ...made });
}
