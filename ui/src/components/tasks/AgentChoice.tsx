/** The agents that work here, to choose from; the others apart, each with what mends it. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { CatalogueAgent } from '../../api/types';
import { plural, t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { mayInstall, type Team } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { later } from '../parts/later';
import { sizeWords } from '../parts/words';

const SecretDialog = later(async () => (await import('../secrets/SecretDialog')).SecretDialog);

const MIB = 1024 * 1024;
const LOOK_MS = 1000;
/** Of those who may help, so many are named. */
const MOST_NAMES = 3;
/** Of the agents that are not chosen, so many have a chip at first. */
const MOST_CHIPS = 4;

interface AgentChipsProps {
  readonly agents: readonly CatalogueAgent[] | null;
  readonly chosen: readonly string[];
  /** Whether no agent is to start. */
  readonly bare: boolean;
  readonly onChoose: (chosen: readonly string[]) => void;
  /** Null where an agent is to start in any case. */
  readonly onBare: ((bare: boolean) => void) | null;
}

/** A chip for each agent that works here, and one for none. Until they are listed, those that are
 *  chosen. */
export function AgentChips({ agents, chosen, bare, onChoose, onBare }: AgentChipsProps) {
  const [all, setAll] = useState(false);
  const names = agents === null ? chosen : workingOf(agents).map(({ name }) => name);
  const shown = all ? names : names.filter((name, at) => at < MOST_CHIPS || chosen.includes(name));
  const others = names.length - shown.length;
  return (
    <div className="chips-agents" role="group" aria-label={t`Agents`}>
      {shown.map((name) => (
        <Chip
          key={name}
          words={name}
          checked={!bare && chosen.includes(name)}
          onCheck={(on) => {
            const rest = bare ? [] : chosen.filter((one) => one !== name);
            onChoose(on ? [...rest, name] : rest);
          }}
        />
      ))}
      {others > 0 && (
        <button type="button" className="chip" onClick={() => setAll(true)}>
          {plural(others, { one: '# more agent', other: '# more agents' })}
        </button>
      )}
      {onBare !== null && <Chip words={t`no agent`} checked={bare} onCheck={onBare} />}
    </div>
  );
}

interface ChipProps {
  readonly words: string;
  readonly checked: boolean;
  readonly onCheck: (checked: boolean) => void;
}

function Chip({ words, checked, onCheck }: ChipProps) {
  return (
    <label className="chip chip-check">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onCheck(event.target.checked)}
      />
      {words}
    </label>
  );
}

function promptedOf(agents: readonly CatalogueAgent[]): readonly CatalogueAgent[] {
  return agents.filter(({ prompts }) => prompts);
}

/** Those that can begin a task here now. */
export function workingOf(agents: readonly CatalogueAgent[]): readonly CatalogueAgent[] {
  return promptedOf(agents).filter(({ state }) => state === 'works');
}

interface NotReadyProps {
  readonly agents: readonly CatalogueAgent[] | null;
  /** Something was installed or set: what works may have changed. */
  readonly onMended: () => void;
}

/** The agents that do not work here, each with what mends it. */
export function NotReady({ agents, onMended }: NotReadyProps) {
  const lacking = promptedOf(agents ?? []).filter(({ state }) => state !== 'works');
  const installing = lacking.some((one) => isInstalling(one));
  useEffect(() => {
    if (!installing) return;
    const timer = window.setInterval(onMended, LOOK_MS);
    return () => window.clearInterval(timer);
  });
  if (lacking.length === 0) return null;
  return (
    <details className="composer-more">
      <summary>{t`Not ready here: ${lacking.map(({ name }) => name).join(', ')}`}</summary>
      <ul className="composer-blocked">
        {lacking.map((one) => (
          <Lacking key={one.name} agent={one} onMended={onMended} />
        ))}
      </ul>
    </details>
  );
}

/** Where no agent works yet: one line with the step that makes one work, and who may take it. */
export function FirstAgent({ agents, onMended }: NotReadyProps) {
  const ours = useStore(team);
  const [scope, setScope] = useState<Scope | null>(null);
  if (agents === null || workingOf(agents).length > 0) return null;
  const keyless = promptedOf(agents).filter(({ state }) => state === 'key_missing');
  const named = keyless[0] ?? promptedOf(agents).find(({ state }) => state === 'not_installed');
  return (
    <section className="composer-first" aria-label={t`No agent is ready yet`}>
      <p>
        {keyless.length > 0
          ? keyWords(keyless.map(({ name }) => name).join(', '), ours)
          : installWords(ours)}
      </p>
      {keyless.length > 0 && <KeyButtons ours={ours} onScope={setScope} />}
      {keyless.length === 0 && mayInstall(ours) && named !== undefined && (
        <Install agent={named} onMended={onMended} />
      )}
      <NotReady agents={agents} onMended={onMended} />
      {scope !== null && (
        <SecretDialog
          provider={named?.providers[0]}
          scope={scope}
          onClose={() => setScope(null)}
          onDone={onMended}
        />
      )}
    </section>
  );
}

type Scope = 'organization' | 'person';

interface KeyButtonsProps {
  readonly ours: Team | null;
  readonly onScope: (scope: Scope) => void;
}

function KeyButtons({ ours, onScope }: KeyButtonsProps) {
  return (
    <>
      {ours !== null && mayInstall(ours) && (
        <button
          type="button"
          className="button button-small button-primary"
          onClick={() => onScope('organization')}
        >
          {t`Add a key for everybody`}
        </button>
      )}
      <button type="button" className="button button-small" onClick={() => onScope('person')}>
        {ours === null ? t`Set a key` : t`Set a key of your own`}
      </button>
    </>
  );
}

function keyWords(agents: string, ours: Team | null): string {
  if (ours === null) return t`No agent is ready yet: ${agents} lack a key.`;
  if (mayInstall(ours))
    return t`No agent is ready yet: ${agents} lack a key. One of scope organization gives it to everybody.`;
  const who = administratorsOf(ours);
  return t`No agent is ready yet. ${who} can add a key of scope organization, which gives it to everybody.`;
}

function installWords(ours: Team | null): string {
  if (mayInstall(ours)) return t`No agent is installed here yet.`;
  const who = ours === null ? '' : administratorsOf(ours);
  return t`No agent is installed here yet. ${who} can install one.`;
}

/** Who may, by name: owners and administrators. */
function administratorsOf({ members }: Team): string {
  const names = members
    .filter(({ role }) => role === 'owner' || role === 'admin')
    .map(({ name }) => name)
    .slice(0, MOST_NAMES);
  return names.length === 0 ? t`An administrator of your team` : names.join(', ');
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
