/** The agents that can be started in a sandbox. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { openTerminal } from '../../state/acts';
import { agentsInside, startWords } from '../../state/attention/agents';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

export function AgentButtons({ sandbox }: { readonly sandbox: Sandbox }) {
  const id = sandbox.sandbox_id;
  const all = agentsInside(sandbox);
  if (all.length === 0) return null;
  return (
    <Pop
      className="tab-tool"
      label={t`New agent`}
      summary={
        <>
          <Icon name="agent" />
          <span className="wide-only">{t`Agent`}</span>
        </>
      }
    >
      {(close) => (
        <ul className="menu-list" aria-label={t`Agents`}>
          {all.map((agent) => (
            <li key={agent}>
              <button
                type="button"
                className="sandbox-act"
                aria-label={startWords(agent)}
                onClick={() => {
                  close();
                  void openTerminal(id, agent);
                }}
              >
                <Icon name="agent" />
                {agent}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Pop>
  );
}
