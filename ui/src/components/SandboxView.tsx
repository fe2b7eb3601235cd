/** One sandbox: what it is, how it is doing, what may be done to it, and its terminals. */

import { useState } from 'react';
import { api } from '../api/client';
import type { Sandbox } from '../api/types';
import { notify, notifyFailure } from '../state/announce';
import { go } from '../state/route';
import { keep } from '../state/sandboxes';
import { Confirm } from './Dialog';
import { Icon } from './icons';
import { IsolationMark } from './IsolationMark';
import { StateMark } from './StateMark';
import { Terminals } from './Terminals';
import { TimeLeft } from './TimeLeft';
import { profileWords, repoWords } from './words';

export type Act = 'stop' | 'start' | 'recreate' | 'destroy';

const LIVE = ['ready', 'active'];

/** What may be done to a sandbox in its state, in the order of the buttons. */
export function actsOf({ state }: Sandbox): readonly Act[] {
  switch (state) {
    case 'requested':
    case 'provisioning':
      return ['destroy'];
    case 'ready':
    case 'active':
      return ['stop', 'recreate', 'destroy'];
    case 'stopped':
      return ['start', 'recreate', 'destroy'];
    case 'expired':
    case 'failed':
      return ['recreate', 'destroy'];
    case 'destroying':
    case 'destroyed':
      return [];
  }
}

export const actWords: Readonly<Record<Act, string>> = {
  stop: 'Stop',
  start: 'Start',
  recreate: 'Recreate',
  destroy: 'Destroy',
};

/** Does it, or says why not. */
export async function perform(sandbox: Sandbox, act: Act, keepWorktree = false): Promise<void> {
  const { sandbox_id: id, name } = sandbox;
  try {
    keep(act === 'destroy' ? await api.destroy(id, keepWorktree) : await api.act(id, act));
    if (act === 'destroy') {
      notify(`${name} is being destroyed.`);
      go(null);
    }
  } catch (reason) {
    notifyFailure(`${actWords[act]} of ${name} failed`)(reason);
  }
}

interface SandboxViewProps {
  readonly sandbox: Sandbox;
  readonly onAct: (act: Act) => void;
  readonly onPalette: () => void;
  readonly onMenu: () => void;
}

export function SandboxView({ sandbox, onAct, onPalette, onMenu }: SandboxViewProps) {
  const repo = repoWords(sandbox);
  return (
    <main className="sandbox" aria-label={`Sandbox ${sandbox.name}`}>
      <header className="sandbox-head">
        <div className="sandbox-title">
          <button
            type="button"
            className="button-icon narrow-only"
            aria-label="Sandboxes"
            onClick={onMenu}
          >
            <Icon name="menu" />
          </button>
          <h1 title={sandbox.sandbox_id}>{sandbox.name}</h1>
          <StateMark state={sandbox.state} />
          <span className="spring" />
          <div className="acts" role="toolbar" aria-label="Sandbox">
            {actsOf(sandbox).map((act) => (
              <button
                key={act}
                type="button"
                className={
                  act === 'destroy'
                    ? 'button button-small button-quiet-danger'
                    : 'button button-small'
                }
                onClick={() => onAct(act)}
              >
                {actWords[act]}
              </button>
            ))}
          </div>
        </div>
        <ul className="facts">
          {repo !== null && (
            <li className="fact">
              <Icon name="branch" />
              {repo}
            </li>
          )}
          <li className="fact" title={`${sandbox.profile.id} ${sandbox.profile.version}`}>
            <Icon name={sandbox.agent === null ? 'terminal' : 'agent'} />
            {profileWords(sandbox.profile.id)}
            {sandbox.agent !== null &&
              sandbox.agent !== profileWords(sandbox.profile.id) &&
              ` · ${sandbox.agent}`}
          </li>
          <li className="fact" title="What its egress door lets through">
            <Icon name="network" />
            network {sandbox.network_mode}
          </li>
          {sandbox.isolation !== null && (
            <li>
              <IsolationMark isolation={sandbox.isolation} />
            </li>
          )}
          {sandbox.expires_at !== null && [...LIVE, 'stopped'].includes(sandbox.state) && (
            <li>
              <TimeLeft sandbox={sandbox} />
            </li>
          )}
        </ul>
        <Reason sandbox={sandbox} />
      </header>
      <Terminals
        key={`${sandbox.sandbox_id} ${sandbox.generation}`}
        sandbox={sandbox}
        onPalette={onPalette}
      />
    </main>
  );
}

function Reason({ sandbox }: { readonly sandbox: Sandbox }) {
  const { state, reason, retained_until: until } = sandbox;
  if (state !== 'failed' && state !== 'expired') return null;
  return (
    <p className={`reason reason-${state}`} role="alert">
      <strong>{state === 'failed' ? 'It failed.' : 'Its time ran out.'}</strong> {reason}
      {until !== null && (
        <span className="quiet"> Its files are kept until {new Date(until).toLocaleString()}.</span>
      )}
    </p>
  );
}

interface ConfirmActProps {
  readonly sandbox: Sandbox;
  readonly act: Act;
  readonly onClose: () => void;
}

/** Asks before an act that ends something. */
export function ConfirmAct({ sandbox, act, onClose }: ConfirmActProps) {
  const [keepWorktree, setKeepWorktree] = useState(false);
  return (
    <Confirm
      title={`${actWords[act]} ${sandbox.name}?`}
      action={actWords[act]}
      danger={act === 'destroy'}
      onClose={onClose}
      onConfirm={() => void perform(sandbox, act, keepWorktree)}
    >
      <ActWords act={act} />
      {act === 'destroy' && sandbox.repos.length > 0 && (
        <label className="check">
          <input
            type="checkbox"
            checked={keepWorktree}
            onChange={(event) => setKeepWorktree(event.target.checked)}
          />
          Keep the working tree
        </label>
      )}
    </Confirm>
  );
}

function ActWords({ act }: { readonly act: Act }) {
  switch (act) {
    case 'stop':
      return (
        <p>All its terminals and programs end. Its files stay, and it can be started again.</p>
      );
    case 'recreate':
      return (
        <p>
          It starts over from its profile. Programs end and files are made anew; commits that were
          not pulled are saved as a bundle first.
        </p>
      );
    case 'destroy':
      return <p>Its programs, files and commits that were not pulled are removed for good.</p>;
    case 'start':
      return null;
  }
}
