/** The box for a task over a canvas: an agent begins, and its pane stands there. */

import { useEffect } from 'react';
import type { Sandbox } from '../../api/types';
import { Dialog } from '../../components/parts/Dialog';
import { Composer } from '../../components/tasks/Composer';
import type { Home } from '../../components/tasks/composing';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { agentsInside } from '../../state/attention/agents';
import type { Source } from '../../state/tasks/choices';
import { knownOf, useKnown, visit } from '../../state/team/visited';
import type { Item } from '../document/items';
import { wordsOf } from '../document/rich';
import { dashboardsApi } from '../list/api';
import { hangWork, replaceAgent, showAgents } from '../view/hanging';
import { makeItem, renewTerminal } from '../view/making';
import type { Stage } from '../view/stage';
import type { OpenDashboard } from '../view/useDashboard';

interface TaskDialogProps {
  readonly id: string;
  readonly open: OpenDashboard;
  /** A todo gives its words; a pane whose agent has ended shows the one that begins. */
  readonly item: Item | null;
  /** What is to be done, where that is known; a todo says it itself. */
  readonly words: string | null;
  readonly onClose: () => void;
}

export function TaskDialog({ id, open, item, words, onClose }: TaskDialogProps) {
  const { stage, dashboard } = open;
  const todo = item?.kind === 'todo' ? item : null;
  const prompt = todo === null ? words : wordsOf(todo.text).trim() || todo.title;
  const agents = useHomeAgents(open);
  const home: Home | null = todo === null && agents.length > 0 ? { agents, begin } : null;

  function begin(agent: string, prompt: string): void {
    onClose();
    const first = { agent, words: prompt };
    if (item === null) void makeItem(id, stage, 'agent', first);
    else void renewTerminal(id, stage, item, first);
  }

  function onStarted(made: readonly Sandbox[]): void {
    onClose();
    place(stage, item, made);
    // Others at the dashboard may watch it; without the link it works all the same.
    for (const one of made) dashboardsApi.linkSandbox(id, one.sandbox_id).catch(() => undefined);
    notify(t`Started ${made.map(({ name }) => name).join(', ')}.`);
  }

  return (
    <Dialog title={todo === null ? t`New agent` : t`Hand it to an agent`} onClose={onClose} wide>
      <Composer
        known={{
          ...repositoryOf(stage),
          ...(prompt === null ? {} : { prompt }),
          // The whole team's dashboard has the work of the whole team, unless they say otherwise.
          shared: dashboard?.scope === 'shared',
        }}
        home={home}
        onStarted={onStarted}
      />
    </Dialog>
  );
}

/** Shows on the canvas what was begun. */
function place(stage: Stage, item: Item | null, made: readonly Sandbox[]): void {
  // Others may have changed it meanwhile, or removed it.
  const now = item === null ? null : stage.board.item(item.id);
  const [first, ...others] = made;
  if (item?.kind === 'todo') hangWork(stage, now ?? item, made);
  else if (now === null || first?.agent == null) showAgents(stage, made);
  else {
    replaceAgent(stage, now, first);
    if (others.length > 0) showAgents(stage, others);
  }
}

/** The agents that are installed in the dashboard's own sandbox; none while it has no such. */
function useHomeAgents({ dashboard, reload }: OpenDashboard): readonly string[] {
  // Its first terminal made it, perhaps after the dashboard was opened.
  useEffect(reload, [reload]);
  const home = dashboard?.sandbox_id ?? null;
  useEffect(() => (home === null ? undefined : visit([home])), [home]);
  const sandbox = useKnown(home);
  return sandbox == null ? [] : agentsInside(sandbox);
}

/** The repository of what is chosen on a canvas, else of the first of its sandboxes with one. */
function repositoryOf(stage: Stage): Source | null {
  for (const { sandboxId, task } of [...stage.picked, ...stage.items]) {
    const [repo] = knownOf(sandboxId ?? task?.sandboxId ?? null)?.repos ?? [];
    if (repo !== undefined)
      return repo.key === null
        ? { repo: 'url', url: repo.repo_url }
        : { repo: `key:${repo.key}`, url: '' };
  }
  return null;
}
