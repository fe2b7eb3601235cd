/** The sandboxes that received the same sentence, side by side. */

import type { Sandbox } from '../../api/types';
import { go, goTo } from '../../state/route';
import { StateMark } from '../sandboxes/StateMark';
import { groupsOf } from './draft';

interface TaskGroupsProps {
  readonly list: readonly Sandbox[];
}

const GONE = ['destroying', 'destroyed'];

export function TaskGroups({ list }: TaskGroupsProps) {
  const groups = groupsOf(list.filter(({ state }) => !GONE.includes(state)));
  if (groups.length === 0) return null;
  return (
    <section>
      <h2>Compared side by side</h2>
      {groups.map((group) => (
        <article key={group[0]?.task?.group} className="task-group">
          <h3>{headOf(group)}</h3>
          <ul className="cards">
            {group.map((sandbox) => (
              <Member key={sandbox.sandbox_id} sandbox={sandbox} />
            ))}
          </ul>
          <button type="button" className="button button-small" onClick={() => goTo('wall')}>
            Their terminals on the wall
          </button>
        </article>
      ))}
    </section>
  );
}

const MAX_HEAD = 120;

function headOf(group: readonly Sandbox[]): string {
  const line = group[0]?.task?.prompt.trim().split('\n')[0] ?? '';
  return line.length > MAX_HEAD ? `${line.slice(0, MAX_HEAD)}…` : line;
}

function Member({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandbox_id: id, agent, name, state, task, metadata } = sandbox;
  return (
    <li className="card">
      <button type="button" className="card-face" onClick={() => go(id)}>
        <span className="card-title">
          <span className="card-name" title={name}>
            {agent ?? name}
          </span>
          <StateMark state={state} />
        </span>
        <span className="card-note">{metadata.branch ?? name}</span>
        {task?.state === 'failed' && <span className="card-note fact-warn">{task.reason}</span>}
      </button>
    </li>
  );
}
