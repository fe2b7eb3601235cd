/** The agents that work here, to choose from; the others apart, each with what mends it. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { CatalogueAgent } from '../../api/types';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { mayInstall } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { later } from '../parts/later';
import { Loading } from '../parts/States';
import { sizeWords } from '../parts/words';

const SecretDialog = later(async () => (await import('../secrets/SecretDialog')).SecretDialog);

const MIB = 1024 * 1024;
const LOOK_MS = 1000;

interface AgentChoiceProps {
  readonly agents: readonly CatalogueAgent[] | null;
  readonly chosen: readonly string[];
  readonly onChoose: (chosen: readonly string[]) => void;
  /** Something was installed or set: what works may have changed. */
  readonly onMended: () => void;
}

export function AgentChoice({ agents, chosen, onChoose, onMended }: AgentChoiceProps) {
  const installs = mayInstall(useStore(team));
  const prompted = (agents ?? []).filter((one) => one.prompts);
  const working = prompted.filter((one) => one.state === 'works');
  const lacking = prompted.filter((one) => one.state !== 'works');
  const installing = lacking.some((one) => isInstalling(one));
  useEffect(() => {
    if (!installing) return;
    const timer = window.setInterval(onMended, LOOK_MS);
    return () => window.clearInterval(timer);
  });

  return (
    <fieldset className="form-group">
      <legend>{t`Agents`}</legend>
      {agents === null && <Loading what={t`the agents`} lines={1} />}
      {agents !== null && working.length === 0 && (
        <p className="quiet">
          {t`No agent is ready yet. ${installs ? t`Install one, or set its key.` : t`Below is what each of them lacks.`}`}
        </p>
      )}
      <div className="composer-agents">
        {working.map(({ name }) => (
          <label key={name} className="composer-agent">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) =>
                onChoose(
                  event.target.checked ? [...chosen, name] : chosen.filter((one) => one !== name),
                )
              }
            />
            {name}
          </label>
        ))}
      </div>
      {lacking.length > 0 && (
        <details className="composer-more" open={working.length === 0}>
          <summary>{t`Not ready here: ${lacking.map(({ name }) => name).join(', ')}`}</summary>
          <ul className="composer-blocked">
            {lacking.map((one) => (
              <Lacking key={one.name} agent={one} onMended={onMended} />
            ))}
          </ul>
        </details>
      )}
    </fieldset>
  );
}

function isInstalling({ install }: CatalogueAgent): boolean {
  return install !== null && install.failed === null;
}

interface LackingProps {
  readonly agent: CatalogueAgent;
  readonly onMended: () => void;
}

function Lacking({ agent, onMended }: LackingProps) {
  const [asks, setAsks] = useState(false);
  const { name, state, reason, mend } = agent;
  const installs = mayInstall(useStore(team));
  return (
    <li className="blocked">
      <strong>{name}</strong>
      <span className="blocked-why">
        {reason}
        {state === 'unavailable' && mend !== null && ` ${t`To mend it, ${mend}.`}`}
      </span>
      {state === 'not_installed' &&
        (installs ? (
          <Install agent={agent} onMended={onMended} />
        ) : (
          <span className="quiet">{t`An administrator of your team installs it.`}</span>
        ))}
      {state === 'key_missing' && (
        <button type="button" className="button button-small" onClick={() => setAsks(true)}>
          {t`Set a key`}
        </button>
      )}
      {asks && (
        <SecretDialog
          provider={agent.providers[0]}
          onClose={() => setAsks(false)}
          onDone={onMended}
        />
      )}
    </li>
  );
}

/** Installs an agent, with a bar; where that is not allowed here, says what is. */
function Install({ agent, onMended }: LackingProps) {
  const { name, install, mend, about_mib: size } = agent;
  if (install !== null && install.failed === null) {
    const { bytes, expected } = install;
    return (
      <label className="composer-progress">
        {t`Installing ${name}`}
        <progress {...(expected > 0 ? { max: expected, value: Math.min(bytes, expected) } : {})} />
      </label>
    );
  }
  return (
    <>
      <button
        type="button"
        className="button button-small"
        onClick={() => {
          api.installAgent(name).then(onMended, notifyFailure(t`${name} was not installed`));
        }}
      >
        {t`Install`}
        <span className="spoken"> {name}</span>
        {size > 0 && <span className="quiet"> · {sizeWords(size * MIB)}</span>}
      </button>
      {install !== null && (
        <p className="field-trouble" role="alert">
          {install.failed} {t`On this host: ${(<code>{mend}</code>)}`}
        </p>
      )}
    </>
  );
}
