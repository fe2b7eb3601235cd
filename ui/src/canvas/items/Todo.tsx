/** A todo: what is to be done, by whom and until when, and the agent that does it. */

import { useEffect } from 'react';
import type { Sandbox, SandboxAgent } from '../../api/types';
import { AgentMark, AgentShape } from '../../components/agents/AgentMark';
import { Icon } from '../../components/parts/icons';
import { useInbox } from '../../components/inbox/Inbox';
import { t } from '../../language/t';
import { comesHome } from '../../state/acts';
import { leadOf } from '../../state/attention/agents';
import { useRights } from '../../state/team/useRights';
import { useKnown } from '../../state/team/visited';
import { changeItems } from '../document/acts';
import { nameOf, type Item, type TodoTask } from '../document/items';
import type { Person } from '../sync/wire';
import type { Way } from '../view/hanging';
import type { Stage } from '../view/stage';
import { RichLines } from './RichLines';
import { isMerged } from './task';
import { TextEditor } from './TextEditor';

interface TodoProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly inside: boolean;
  readonly people: readonly Person[];
  /** Opens the box for a task with its words; null where this person may not. */
  readonly onGive: ((item: Item) => void) | null;
  /** Leads to what its agent does. */
  readonly onWay: (item: Item, way: Way) => void;
}

export function Todo({ stage, item, inside, people, onGive, onWay }: TodoProps) {
  const { id, text, rev, done, task } = item;
  const { board, edits } = stage;
  return (
    <div className={done ? 'todo todo-done' : 'todo'}>
      <input
        type="checkbox"
        className="todo-check"
        aria-label={t`Done: ${nameOf(item)}`}
        checked={done}
        disabled={!edits}
        onChange={() => changeItems(board, [id], { done: !done, proposed_done: null })}
      />
      <div className="todo-body">
        {inside && text !== null && edits ? (
          <TextEditor stage={stage} text={text} name={`Text of ${nameOf(item)}`} />
        ) : (
          <RichLines text={text} rev={rev} placeholder={t`What is to be done?`} />
        )}
      </div>
      {task !== null && <TaskLine {...{ stage, item, task, onWay }} />}
      <Facts {...{ stage, item, people, onGive, onWay }} />
    </div>
  );
}

/** Who and until when, and the way to an agent. */
function Facts({ stage, item, people, onGive, onWay }: Omit<TodoProps, 'inside'>) {
  const { id, due, done, task } = item;
  const { board, edits } = stage;
  const late = due !== null && !done && due < new Date().toISOString().slice(0, 10);
  return (
    <div className="todo-facts">
      <Assignee {...{ stage, item, people }} />
      <input
        type="date"
        className={`todo-due ${late ? 'todo-late' : due === null ? 'todo-due-none' : ''}`}
        aria-label={late ? t`Due, and late` : t`Due`}
        value={due ?? ''}
        disabled={!edits}
        onChange={({ target }) => changeItems(board, [id], { due: target.value || null })}
      />
      <span className="spring" />
      {task === null && !done && onGive !== null && (
        <button
          type="button"
          className="button button-slim"
          title={t`Hand it to an agent (G)`}
          onClick={() => onGive(item)}
        >
          <Icon name="agent" />
          {t`Do this`}
        </button>
      )}
      {task !== null && !done && <NextAct {...{ stage, item, task, onWay }} />}
    </div>
  );
}

function Assignee({ stage, item, people }: Pick<TodoProps, 'stage' | 'item' | 'people'>) {
  const { id, assignee } = item;
  const known = people.some((person) => person.id === assignee);
  return (
    <select
      aria-label={t`Who does it`}
      value={assignee ?? ''}
      disabled={!stage.works}
      onChange={({ target }) => changeItems(stage.board, [id], { assignee: target.value || null })}
    >
      <option value="">{t`Nobody`}</option>
      {assignee !== null && !known && <option value={assignee}>{t`A former member`}</option>}
      {people.map((person) => (
        <option key={person.id} value={person.id}>
          {person.name}
        </option>
      ))}
    </select>
  );
}

interface TaskProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly task: TodoTask;
  readonly onWay: TodoProps['onWay'];
}

/** The agent at work: what it does, its branch, and the ways to its pane and its changes. */
function TaskLine({ stage, item, task, onWay }: TaskProps) {
  const { sandbox, gone, lead } = useWork(task);
  useProposal(stage, item, sandbox, commitsOf(lead));
  return (
    <div className="todo-task">
      {item.proposedDone && (
        <span className="state does-done">
          <AgentShape status="done" />
          {t`Taken over`}
        </span>
      )}
      {lead !== null && !item.proposedDone && <AgentMark agent={lead} />}
      {lead === null && (
        <span className="quiet">{gone ? t`Its sandbox is gone.` : t`Starting…`}</span>
      )}
      {task.branch !== '' && (
        <span className="todo-branch" title={task.branch}>
          <Icon name="branch" />
          <span>{task.branch}</span>
        </span>
      )}
      <span className="spring" />
      {sandbox !== null && (
        <>
          <WayButton words={t`Agent`} onPress={() => onWay(item, 'agent')} />
          <WayButton words={t`Changes`} onPress={() => onWay(item, 'diff')} />
        </>
      )}
    </div>
  );
}

/** The sandbox of a task and the agent in it, as this person sees them. */
function useWork({ sandboxId }: TodoTask) {
  const known = useKnown(sandboxId);
  const sandbox = known ?? null;
  return { sandbox, gone: known === null, lead: sandbox === null ? null : leadOf(sandbox) };
}

/** How many commits an agent made that is done; null for any other. */
function commitsOf(lead: SandboxAgent | null): number | null {
  return lead?.status.status === 'done' ? (lead.status.commits ?? 0) : null;
}

interface WayButtonProps {
  readonly words: string;
  readonly main?: boolean;
  readonly onPress: () => void;
}

function WayButton({ words, main = false, onPress }: WayButtonProps) {
  return (
    <button
      type="button"
      className={main ? 'button button-slim button-primary' : 'button button-slim'}
      onClick={onPress}
    >
      {words}
    </button>
  );
}

/** What the work waits for: an answer, to be pulled, or to be called done. */
function NextAct({ stage, item, task, onWay }: TaskProps) {
  const { sandbox, lead } = useWork(task);
  const asks = useInbox().some((one) => one.sandbox_id === task.sandboxId);
  const manages = useRights(task.sandboxId).manages;
  if (asks) return <WayButton words={t`Answer`} main onPress={() => onWay(item, 'answer')} />;
  if (item.proposedDone) return <Proposal stage={stage} id={item.id} />;
  if (sandbox === null || !manages || !comesHome(sandbox)) return null;
  const ready = lead?.status.status === 'done';
  return <WayButton words={t`Pull`} main={ready} onPress={() => onWay(item, 'home')} />;
}

function Proposal({ stage, id }: { readonly stage: Stage; readonly id: string }) {
  return (
    <button
      type="button"
      className="button button-slim button-primary"
      title={t`Its work was taken over`}
      disabled={!stage.works}
      onClick={() => changeItems(stage.board, [id], { done: true, proposed_done: null })}
    >
      {t`It is done`}
    </button>
  );
}

/** Proposes that it is done once the work was pulled or merged: looked for when its agent is done,
 *  and again with each change of the sandbox; `commits`: how many it made, null while it works. */
function useProposal(
  stage: Stage,
  item: Item,
  sandbox: Sandbox | null,
  commits: number | null,
): void {
  const { id, done, proposedDone } = item;
  const looks = !done && !proposedDone && stage.works;
  useEffect(() => {
    if (!looks || commits === null || sandbox === null) return;
    let gone = false;
    const look = (): void => {
      isMerged(sandbox.sandbox_id, commits).then(
        (merged) => {
          if (merged && !gone) changeItems(stage.board, [id], { proposed_done: true });
        },
        () => undefined,
      );
    };
    look();
    const timer = window.setInterval(look, 20_000);
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
  }, [looks, stage, id, sandbox, commits]);
}
