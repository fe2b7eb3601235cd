/** “Do this”: the box for a task with the words of a todo, and the agent's work hung on it. */

import type { Sandbox } from '../../api/types';
import { Dialog } from '../../components/parts/Dialog';
import { Composer } from '../../components/tasks/Composer';
import { notify } from '../../state/announce';
import { changeItems } from '../document/acts';
import { wordsOf } from '../document/rich';
import type { Item } from '../document/items';
import { dashboardsApi } from '../list/api';
import type { Stage } from '../view/stage';

interface GiveDialogProps {
  readonly id: string;
  readonly stage: Stage;
  readonly item: Item;
  readonly onClose: () => void;
}

export function GiveDialog({ id, stage, item, onClose }: GiveDialogProps) {
  function onStarted(made: readonly Sandbox[]): void {
    const [first] = made;
    onClose();
    if (first === undefined) return;
    const branch = first.repos[0]?.branch ?? '';
    changeItems(stage.board, [item.id], { task: { sandbox_id: first.sandbox_id, branch } });
    // Others at the dashboard may watch it; without the link it works all the same.
    for (const one of made) dashboardsApi.linkSandbox(id, one.sandbox_id).catch(() => undefined);
    notify(`${first.agent ?? 'An agent'} is on it.`);
  }
  return (
    <Dialog title="Hand it to an agent" onClose={onClose} wide>
      <Composer prompt={wordsOf(item.text).trim() || item.title} onStarted={onStarted} />
    </Dialog>
  );
}
