/** New items that need more than the document: terminals and agents of the home sandbox. */

import { api } from '../../api/client';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { hasCardsOnly } from '../../state/attention/agents';
import { firstPort } from '../../state/previews/places';
import { loadPorts, ports } from '../../state/previews/ports';
import { loadTerminals } from '../../state/sandboxes';
import { Store, useStore } from '../../state/store';
import { addItem, changeItems } from '../document/acts';
import { isPane, sizeOf, type Item } from '../document/items';
import { gridOf } from '../items/grid';
import { dashboardsApi, type OpenedTerminal } from '../list/api';
import { sandboxOf } from './files';
import type { Stage } from './stage';

/** Terminals that are on their way: the first one starts the sandbox. */
const opening = new Store(0);

export function useOpening(): number {
  return useStore(opening);
}

/** An agent that begins in the home sandbox. */
export interface Beginning {
  readonly agent: string;
  /** What it is asked first; '' leaves it waiting. */
  readonly words: string;
}

/** Makes an item of a kind in the middle of the window, and goes into what is written there. */
export async function makeItem(
  dashboard: string,
  stage: Stage,
  kind: string,
  beginning: Beginning | null = null,
): Promise<void> {
  const size = sizeOf(kind);
  const box = { ...stage.place(size), ...size };
  if (kind === 'terminal' || kind === 'agent') {
    const made = await openTerminal(dashboard, size, beginning);
    if (made === null) return;
    const agent = beginning?.agent;
    const fields = {
      ...made,
      ...(agent === undefined ? {} : { title: agent, agent, view: 'terminal' }),
    };
    const id = addItem(stage.board, { kind, box, fields }, stage.author);
    show(stage, id);
    stage.enter(id);
    return;
  }
  const fields = SHOWS_SANDBOX.has(kind) ? await fieldsOf(kind, stage) : {};
  if (fields === null) return;
  const id = addItem(stage.board, { kind, box, fields }, stage.author);
  show(stage, id);
  if (kind === 'frame' || isPane(kind)) stage.choose([id], false);
  else stage.enter(id);
}

/** Kinds that show something of a sandbox. */
const SHOWS_SANDBOX: ReadonlySet<string> = new Set(['files', 'diff', 'preview']);

/** A sandbox of the dashboard; of a preview also its port. */
async function fieldsOf(kind: string, stage: Stage): Promise<Record<string, unknown> | null> {
  const id = sandboxOf(stage);
  if (id === null) {
    notify(t`Open a terminal first: it brings a sandbox, of which this shows something.`);
    return null;
  }
  if (kind !== 'preview') return { sandbox_id: id };
  // One that does not run, or in which nothing listens, shows its preview once it does.
  await loadPorts(id).catch(() => undefined);
  const port = firstPort(ports.get()[id] ?? []);
  return port === null ? { sandbox_id: id } : { sandbox_id: id, port };
}

function show(stage: Stage, id: string): void {
  const item = stage.board.item(id);
  if (item !== null) stage.reveal(item);
}

async function openTerminal(
  dashboard: string,
  size: Pick<Item, 'w' | 'h'>,
  beginning: Beginning | null,
): Promise<OpenedTerminal | null> {
  opening.set((now) => now + 1);
  try {
    const made = await openAt(dashboard, size, beginning?.agent);
    ask(made, beginning?.words ?? '');
    return made;
  } catch (reason) {
    notifyFailure(t`No terminal could be opened`)(reason);
    return null;
  } finally {
    opening.set((now) => now - 1);
  }
}

/** Opens it in the home sandbox, which is made or started first. Raises what the server refuses. */
async function openAt(
  dashboard: string,
  size: Pick<Item, 'w' | 'h'>,
  agent?: string,
): Promise<OpenedTerminal> {
  if (agent !== undefined && hasCardsOnly(agent)) {
    const started = await dashboardsApi.startAgent(dashboard, agent);
    return { sandbox_id: started.sandbox_id, terminal_id: started.agent_id };
  }
  const made = await dashboardsApi.openTerminal(dashboard, {
    ...gridOf(size),
    ...(agent === undefined ? {} : { agent }),
  });
  const { sandbox_id: sandboxId, terminal_id: terminalId } = made;
  // The pane finds its terminal known.
  await loadTerminals(sandboxId).catch(() => undefined);
  return { sandbox_id: sandboxId, terminal_id: terminalId };
}

/** Tells an agent what is to be done; it takes that as soon as it can. */
function ask({ sandbox_id: sandbox, terminal_id: terminal }: OpenedTerminal, words: string): void {
  if (words === '') return;
  api.ask(sandbox, terminal, words).catch(notifyFailure(t`The agent was not told`));
}

/** Opens a terminal in place of one that has ended, of an agent where it was an agent's: the box and
 *  the name stay. */
export async function renewTerminal(
  dashboard: string,
  stage: Stage,
  gone: Item,
  beginning: Beginning | null,
): Promise<void> {
  const made = await openTerminal(dashboard, gone, beginning);
  if (made === null) return;
  if (stage.board.item(gone.id) === null) {
    notify(t`Its item was removed meanwhile: the new terminal is in the sandbox.`);
    return;
  }
  // It shows this one from now on, and no other agent of a sandbox.
  const fields = {
    ...made,
    follows: false,
    ...(beginning === null ? {} : { agent: beginning.agent }),
  };
  changeItems(stage.board, [gone.id], fields);
}
