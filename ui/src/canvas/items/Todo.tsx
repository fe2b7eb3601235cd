/** A todo: what is to be done, by whom and until when, and the agent that does it. */

import { useEffect } from 'react';
import type { SandboxAgent } from '../../api/types';
import { AgentMark } from '../../components/agents/AgentMark';
import { Icon } from '../../components/parts/icons';
import { leadOf } from '../../state/attention/agents';
import { go } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { changeItems } from '../document/acts';
import { nameOf, type Item, type TodoTask } from '../document/items';
import type { Person } from '../sync/wire';
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
}

export function Todo({ stage, item, inside, people, onGive }: TodoProps) {
  const { id, text, rev, done, task } = item;
  const { board, edits } = stage;
  return (
    <div className={done ? 'todo todo-done' : 'todo'}>
      <input
        type="checkbox"
        className="todo-check"
        aria-label={`Done: ${nameOf(item)}`}
        checked={done}
        disabled={!edits}
        onChange={() => changeItems(board, [id], { done: !done, proposed_done: null })}
      />
      <div className="todo-body">
        {inside && text !== null && edits ? (
          <TextEditor stage={stage} text={text} name={`Text of ${nameOf(item)}`} />
        ) : (
          <RichLines text={text} rev={rev} placeholder="What is to be done?" />
        )}
      </div>
      {task !== null && <TaskLine {...{ stage, item, task }} />}
      <Facts {...{ stage, item, people, onGive }} />
    </div>
  );
}

/** Who and until when, and the way to an agent. */
function Facts({ stage, item, people, onGive }: Omit<TodoProps, 'inside'>) {
  const { id, due, done, task } = item;
  const { board, edits } = stage;
  const late = due !== null && !done && due < new Date().toISOString().slice(0, 10);
  return (
    <div className="todo-facts">
      <Assignee {...{ stage, item, people }} />
      <input
        type="date"
        className={late ? 'todo-due todo-late' : 'todo-due'}
        aria-label={late ? 'Due, and late' : 'Due'}
        value={due ?? ''}
        disabled={!edits}
        onChange={({ target }) => changeItems(board, [id], { due: target.value || null })}
      />
      <span className="spring" />
      {task === null && !done && onGive !== null && (
        <button type="button" className="button button-slim" onClick={() => onGive(item)}>
          <Icon name="agent" />
          Do this
        </button>
      )}
    </div>
  );
}

function Assignee({ stage, item, people }: Pick<TodoProps, 'stage' | 'item' | 'people'>) {
  const { id, assignee } = item;
  const known = people.some((person) => person.id === assignee);
  return (
    <select
      aria-label="Who does it"
      value={assignee ?? ''}
      disabled={!stage.edits}
      onChange={({ target }) => changeItems(stage.board, [id], { assignee: target.value || null })}
    >
      <option value="">Nobody</option>
      {assignee !== null && !known && <option value={assignee}>A former member</option>}
      {people.map((person) => (
        <option key={person.id} value={person.id}>
          {person.name}
        </option>
      ))}
    </select>
  );
}

interface TaskLineProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly task: TodoTask;
}

/** The agent at work: what it does, its branch, and the way to its changes. */
function TaskLine({ stage, item, task }: TaskLineProps) {
  const { sandbox, lead } = useWork(task);
  useProposal(stage, item, task, commitsOf(lead));
  return (
    <div className="todo-task">
      <div className="todo-agent">
        {lead !== null && <AgentMark agent={lead} />}
        {sandbox === null && <span className="quiet">Its sandbox is gone.</span>}
        {task.branch !== '' && (
          <span className="todo-branch" title={task.branch}>
            <Icon name="branch" />
            {task.branch}
          </span>
        )}
        <span className="spring" />
        {sandbox !== null && <WaysIn id={task.sandboxId} />}
      </div>
      {item.proposedDone && !item.done && <Proposal stage={stage} id={item.id} />}
    </div>
  );
}

/** The sandbox of a task and the agent in it, as this person sees them. */
function useWork({ sandboxId }: TodoTask) {
  const sandbox = useStore(sandboxes)?.find((one) => one.sandbox_id === sandboxId) ?? null;
  return { sandbox, lead: sandbox === null ? null : leadOf(sandbox) };
}

/** How many commits an agent made that is done; null for any other. */
function commitsOf(lead: SandboxAgent | null): number | null {
  return lead?.status.status === 'done' ? (lead.status.commits ?? 0) : null;
}

function WaysIn({ id }: { readonly id: string }) {
  return (
    <>
      <button type="button" className="button button-slim" onClick={() => go(id, 'changes')}>
        Changes
      </button>
      <button type="button" className="button button-slim" onClick={() => go(id)}>
        Open
      </button>
    </>
  );
}

function Proposal({ stage, id }: { readonly stage: Stage; readonly id: string }) {
  return (
    <p className="todo-proposal">
      Its work was taken over. Is it done?
      <button
        type="button"
        className="button button-slim"
        disabled={!stage.edits}
        onClick={() => changeItems(stage.board, [id], { done: true, proposed_done: null })}
      >
        Done
      </button>
    </p>
  );
}

/** Proposes that it is done once the work was pulled or merged: looked for when an agent is done;
 *  `commits`: how many it made, null while it works. */
function useProposal(stage: Stage, item: Item, task: TodoTask, commits: number | null): void {
  const { id, done, proposedDone } = item;
  const looks = !done && !proposedDone && stage.edits;
  useEffect(() => {
    if (!looks || commits === null) return;
    let gone = false;
    const look = (): void => {
      isMerged(task.sandboxId, commits).then(
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
  }, [looks, stage, id, task.sandboxId, commits]);
}
