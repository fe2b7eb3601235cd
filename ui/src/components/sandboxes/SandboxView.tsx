/** One sandbox: what it is, how it is doing, what may be done to it, and its terminals. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { actsOf, actWords, comesHome, isSettled, type Act } from '../../state/acts';
import { refusals } from '../../state/refusals';
import { go } from '../../state/route';
import { useStore } from '../../state/store';
import { mayManage, mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { ExposedMark } from './ExposedMark';
import { Icon } from '../parts/icons';
import { later } from '../parts/later';
import { IsolationMark } from './IsolationMark';
import { LeftOutNote } from './LeftOutNote';
import { MenuButton } from '../parts/MenuButton';
import { OwnerMark } from './OwnerMark';
import { NetworkDialog } from '../network/NetworkDialog';
import { SetupNote } from './SetupNote';
import { StateMark } from './StateMark';
import { TaskNote } from '../tasks/TaskNote';
import { Terminals } from '../terminals/Terminals';
import { TimeLeft } from './TimeLeft';
import { Ports } from '../previews/Ports';
import { profileWords, repoWords } from '../parts/words';
import { WorkerLink } from '../workers/WorkerLink';

const GiveDialog = later(async () => (await import('../team/GiveDialog')).GiveDialog);

/** States whose time runs. */
const AGING = ['ready', 'active', 'stopped'];

interface SandboxViewProps {
  readonly sandbox: Sandbox;
  readonly onAct: (act: Act) => void;
  readonly onHome: () => void;
  readonly onPalette: () => void;
  readonly onMenu: () => void;
}

export function SandboxView({ sandbox, onAct, onHome, onPalette, onMenu }: SandboxViewProps) {
  const ours = useStore(team);
  const manages = mayManage(ours, sandbox);
  return (
    <main className="sandbox" aria-label={t`Sandbox ${sandbox.name}`}>
      <header className="sandbox-head">
        <div className="sandbox-title">
          <MenuButton onMenu={onMenu} />
          <h1 title={`${sandbox.name} (${sandbox.sandbox_id})`}>{sandbox.name}</h1>
          <StateMark state={sandbox.state} />
          <ExposedMark sandbox={sandbox} />
          <OwnerMark sandbox={sandbox} named />
          <Facts sandbox={sandbox} manages={manages} works={mayWork(ours)} />
          <span className="spring" />
          <div className="acts" role="toolbar" aria-label={t`Sandbox`} hidden={!manages}>
            {manages && ours !== null && isSettled(sandbox) && <GiveButton sandbox={sandbox} />}
            {manages && comesHome(sandbox) && (
              <button type="button" className="button button-small" onClick={onHome}>
                {t`Pull`}
              </button>
            )}
            {(manages ? actsOf(sandbox) : []).map((act) => (
              <button
                key={act}
                type="button"
                className={`button button-small button-${act}`}
                onClick={() => onAct(act)}
              >
                {actWords()[act]}
              </button>
            ))}
          </div>
          <button
            type="button"
            className="button-icon narrow-only"
            aria-label={t`Commands`}
            onClick={onPalette}
          >
            <Icon name="more" />
          </button>
        </div>
        <Instructions sandbox={sandbox} />
        <SetupNote sandbox={sandbox} />
        <LeftOutNote sandbox={sandbox} />
        <TaskNote sandbox={sandbox} />
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

/** Gives the sandbox to another member. */
function GiveButton({ sandbox }: { readonly sandbox: Sandbox }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button button-small" onClick={() => setOpen(true)}>
        {t`Give`}
      </button>
      {open && (
        <GiveDialog
          given={{ ...sandbox, id: sandbox.sandbox_id }}
          onClose={() => setOpen(false)}
          onGiven={() => go(sandbox.sandbox_id)}
        />
      )}
    </>
  );
}

interface FactsProps {
  readonly sandbox: Sandbox;
  readonly manages: boolean;
  readonly works: boolean;
}

/** States in which something inside may listen. */
const RUNNING = ['ready', 'active'];

function Facts({ sandbox, manages, works }: FactsProps) {
  const repo = repoWords(sandbox);
  const profile = profileWords(sandbox.profile.id);
  const { agent, isolation } = sandbox;
  return (
    <ul className="facts">
      {repo !== null && (
        <li className="fact">
          <Icon name="branch" />
          {repo}
        </li>
      )}
      <li className="fact" title={`${sandbox.profile.id} ${sandbox.profile.version}`}>
        <Icon name={agent === null ? 'terminal' : 'agent'} />
        {agent === null || agent === profile ? profile : `${profile} · ${agent}`}
      </li>
      <li>
        {manages ? (
          <NetworkFact sandbox={sandbox} />
        ) : (
          <span className="fact">{t`network ${sandbox.network_mode}`}</span>
        )}
      </li>
      {works && RUNNING.includes(sandbox.state) && (
        <li>
          <Ports sandbox={sandbox} />
        </li>
      )}
      {isolation !== null && (
        <li>
          <IsolationMark sandbox={sandbox} isolation={isolation} />
        </li>
      )}
      <WorkerLink sandbox={sandbox} />
      {manages && AGING.includes(sandbox.state) && (
        <li>
          <TimeLeft sandbox={sandbox} />
        </li>
      )}
    </ul>
  );
}

/** Instructions for the first agent, and whether it received them. */
function Instructions({ sandbox }: { readonly sandbox: Sandbox }) {
  const { instructions, instructions_ref: source, instructed } = sandbox.setup_metadata;
  if (!instructions) return null;
  return (
    <details className="instructions">
      <summary>
        {source ? t`Instructions from ${source}` : t`Instructions`}:{' '}
        {instructed ? t`its agent has them` : t`for its first agent`}
      </summary>
      <pre>{instructions}</pre>
    </details>
  );
}

function NetworkFact({ sandbox }: { readonly sandbox: Sandbox }) {
  const [open, setOpen] = useState(false);
  const refused = useStore(refusals)[sandbox.sandbox_id] ?? [];
  return (
    <>
      <button
        type="button"
        className={refused.length > 0 ? 'pop-face fact fact-warn' : 'pop-face fact'}
        title={t`What its egress proxy lets through`}
        onClick={() => setOpen(true)}
      >
        <Icon name="network" />
        {t`network ${sandbox.network_mode}`}
        {refused.length > 0 && ` · ${t`${refused.length} refused`}`}
      </button>
      {open && <NetworkDialog sandbox={sandbox} onClose={() => setOpen(false)} />}
    </>
  );
}

function Reason({ sandbox }: { readonly sandbox: Sandbox }) {
  const { state, reason, retained_until: until } = sandbox;
  if (state !== 'failed' && state !== 'expired') return null;
  return (
    <p className={`reason reason-${state}`} role="alert">
      <strong>{state === 'failed' ? t`It failed.` : t`Its time ran out.`}</strong> {reason}
      {until !== null && (
        <span className="quiet">
          {' '}
          {t`Its files are kept until ${new Date(until).toLocaleString()}.`}
        </span>
      )}
    </p>
  );
}
