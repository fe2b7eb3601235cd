/** The sandboxes that received the same sentence, each group with the way to its comparison. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { go, goTo } from '../../state/route';
import { StandingMark } from '../sandboxes/StandingMark';
import { groupsOf, headOf } from './draft';

interface TaskGroupsProps {
  readonly list: readonly Sandbox[];
}

export function TaskGroups({ list }: TaskGroupsProps) {
  const groups = groupsOf(list);
  if (groups.length === 0) return null;
  return (
    <section>
      <h2>{t`The same task, several agents`}</h2>
      {groups.map((group) => (
        <article key={group[0]?.task?.group} className="task-group">
          <h3>{headOf(group)}</h3>
          <ul className="cards">
            {group.map((sandbox) => (
              <Member key={sandbox.sandbox_id} sandbox={sandbox} />
            ))}
          </ul>
          <button
            type="button"
            className="button button-small"
            onClick={() => goTo('compare', group[0]?.task?.group)}
          >
            {t`Compare side by side`}
          </button>
        </article>
      ))}
    </section>
  );
}

function Member({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandbox_id: id, agent, name, task, metadata } = sandbox;
  return (
    <li className="card">
      <button type="button" className="card-face" onClick={() => go(id)}>
        <span className="card-title">
          <span className="card-name" title={name}>
            {agent ?? name}
          </span>
          <StandingMark sandbox={sandbox} />
        </span>
        <span className="card-note">{metadata.branch ?? name}</span>
        {task?.state === 'failed' && <span className="card-note fact-warn">{task.reason}</span>}
      </button>
    </li>
  );
}
