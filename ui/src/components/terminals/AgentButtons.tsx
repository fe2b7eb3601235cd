/** The agents that can be started in a sandbox: a button for one or two, else the others in a menu. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { openTerminal } from '../../state/acts';
import { agentsInside, startWords } from '../../state/attention/agents';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

const MOST_BUTTONS = 2;

export function AgentButtons({ sandbox }: { readonly sandbox: Sandbox }) {
  const id = sandbox.sandbox_id;
  const all = agentsInside(sandbox);
  // In a narrow bar buttons are icons, which are the same for all agents.
  const shown = all.length > MOST_BUTTONS ? all.slice(0, 1) : all;
  const others = all.slice(shown.length);
  return (
    <>
      {shown.map((agent) => (
        <button
          key={agent}
          type="button"
          className="button button-small"
          aria-label={startWords(agent)}
          title={startWords(agent)}
          onClick={() => void openTerminal(id, agent)}
        >
          <Icon name="agent" />
          <span className="roomy-only">{agent}</span>
        </button>
      ))}
      {others.length > 0 && (
        <Pop
          button
          summary={
            <>
              <Icon name="agent" />
              <span className="roomy-only">{t`Other agents`}</span>
            </>
          }
          label={t`Other agents`}
        >
          {(close) => (
            <ul className="pop-choices" aria-label={t`Other agents`}>
              {others.map((agent) => (
                <li key={agent}>
                  <button
                    type="button"
                    className="button button-small"
                    aria-label={startWords(agent)}
                    onClick={() => {
                      close();
                      void openTerminal(id, agent);
                    }}
                  >
                    {agent}
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Pop>
      )}
    </>
  );
}
