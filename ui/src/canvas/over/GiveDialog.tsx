/** “Do this”: the box for a task with the words of a todo, and the agent's work hung on it. */

import type { Sandbox } from '../../api/types';
import { Dialog } from '../../components/parts/Dialog';
import { Composer } from '../../components/tasks/Composer';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { wordsOf } from '../document/rich';
import type { Item } from '../document/items';
import { dashboardsApi } from '../list/api';
import { hangWork } from '../view/hanging';
import type { Stage } from '../view/stage';

interface GiveDialogProps {
  readonly id: string;
  readonly stage: Stage;
  readonly item: Item;
  /** Whether the dashboard is the whole team's: then the work is, too, unless they say otherwise. */
  readonly shared: boolean;
  readonly onClose: () => void;
}

export function GiveDialog({ id, stage, item, shared, onClose }: GiveDialogProps) {
  function onStarted(made: readonly Sandbox[]): void {
    const [first] = made;
    onClose();
    if (first === undefined) return;
    hangWork(stage, stage.board.item(item.id) ?? item, first);
    // Others at the dashboard may watch it; without the link it works all the same.
    for (const one of made) dashboardsApi.linkSandbox(id, one.sandbox_id).catch(() => undefined);
    notify(t`${first.agent ?? t`An agent`} is on it.`);
  }
  return (
    <Dialog title={t`Hand it to an agent`} onClose={onClose} wide>
      <Composer
        known={{ prompt: wordsOf(item.text).trim() || item.title, shared }}
        onStarted={onStarted}
      />
    </Dialog>
  );
}
