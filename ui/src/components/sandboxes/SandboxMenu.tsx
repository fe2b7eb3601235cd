/** What is behind a sandbox's ⋯: what it is made of, and everything that may be done to it. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { actsOf, actWords, comesHome, isSettled, type Act } from '../../state/acts';
import { age, isNow, tick } from '../../state/clock';
import { refusals } from '../../state/refusals';
import { copying, useMayCopy } from '../../state/snapshots';
import { useStore } from '../../state/store';
import { team } from '../../state/team/team';
import { doWork, workActsOf, workActWords } from '../../state/work/acts';
import { Icon, type IconName } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { profileWords, repoWords } from '../parts/words';
import { Ports } from '../previews/Ports';
import { WorkerLink } from '../workers/WorkerLink';
import { IsolationMark } from './isolation/IsolationMark';
import { TimeLeft } from './TimeLeft';

/** States whose time runs. */
const AGING = ['ready', 'active', 'stopped'];
/** States in which something inside may listen. */
const RUNNING = ['ready', 'active'];

/** What its entries do. */
export interface MenuCalls {
  readonly onAct: (act: Act) => void;
  readonly onHome: () => void;
  readonly onPalette: () => void;
  readonly onGive: () => void;
  readonly onNetwork: () => void;
}

interface MenuProps extends MenuCalls {
  readonly sandbox: Sandbox;
  readonly manages: boolean;
  readonly works: boolean;
}

export function SandboxMenu(props: MenuProps) {
  const label = t`More about this sandbox`;
  return (
    <Pop className="button-icon sandbox-more" label={label} summary={<Icon name="more" />}>
      {(close) => (
        <Menu
          {...props}
          onLeave={(act) => {
            close();
            // After the menu has given the focus back, so that a dialog may take it.
            window.setTimeout(act);
          }}
        />
      )}
    </Pop>
  );
}

interface MenuBodyProps extends MenuProps {
  /** Closes the menu, and does what was chosen. */
  readonly onLeave: (act: () => void) => void;
}

function Menu(props: MenuBodyProps) {
  const { sandbox, manages, works, onLeave } = props;
  const { onAct, onHome, onPalette, onGive } = props;
  const shared = useStore(team) !== null;
  return (
    <>
      <Facts {...props} />
      <Task sandbox={sandbox} />
      <div className="sandbox-acts" role="toolbar" aria-label={t`Sandbox`}>
        {(manages ? workActsOf(sandbox) : []).map((act) => (
          <Entry
            key={act}
            icon={act}
            words={workActWords()[act]}
            onChoose={() => onLeave(() => void doWork(sandbox, act))}
          />
        ))}
        {manages && comesHome(sandbox) && (
          <Entry icon="branch" words={t`Pull`} onChoose={() => onLeave(onHome)} />
        )}
        <Copies {...props} />
        {manages && shared && isSettled(sandbox) && (
          <Entry icon="person" words={t`Give`} onChoose={() => onLeave(onGive)} />
        )}
        {(manages ? actsOf(sandbox) : []).map((act) => (
          <Entry
            key={act}
            icon={act}
            words={actWords()[act]}
            danger={act === 'destroy'}
            onChoose={() => onLeave(() => onAct(act))}
          />
        ))}
        {works && <Entry icon="command" words={t`Commands`} onChoose={() => onLeave(onPalette)} />}
      </div>
    </>
  );
}

/** The ways to copy it, where its backend keeps snapshots. */
function Copies({ sandbox, manages, works, onLeave }: MenuBodyProps) {
  const { sandbox_id: id } = sandbox;
  if (!useMayCopy(sandbox)) return null;
  const open = (how: 'fork' | 'snapshots') => () =>
    onLeave(() => copying.set({ sandbox: id, how }));
  return (
    <>
      {works && <Entry icon="fork" words={t`Fork…`} onChoose={open('fork')} />}
      {manages && <Entry icon="snapshot" words={t`Snapshots…`} onChoose={open('snapshots')} />}
    </>
  );
}

interface EntryProps {
  readonly icon: IconName;
  readonly words: string;
  readonly danger?: boolean;
  readonly onChoose: () => void;
}

function Entry({ icon, words, danger = false, onChoose }: EntryProps) {
  return (
    <button
      type="button"
      className={danger ? 'sandbox-act button-destroy' : 'sandbox-act'}
      onClick={onChoose}
    >
      <Icon name={icon} />
      {words}
    </button>
  );
}

/** That it began with what an earlier set-up left. */
function Beginning({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useStore(tick);
  const at = sandbox.project?.prebuilt_at ?? null;
  if (at === null) return null;
  return (
    <li className="fact" title={at}>
      <Icon name="clock" />
      {isNow(at, now)
        ? t`set up from a snapshot of just now`
        : t`set up from a snapshot of ${age(at, now)} ago`}
    </li>
  );
}

function Facts({ sandbox, manages, works, onLeave, onNetwork }: MenuBodyProps) {
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
          <NetworkFact sandbox={sandbox} onOpen={() => onLeave(onNetwork)} />
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
      <Beginning sandbox={sandbox} />
      <WorkerLink sandbox={sandbox} />
      {manages && AGING.includes(sandbox.state) && sandbox.archived_at === null && (
        <li>
          <TimeLeft sandbox={sandbox} />
        </li>
      )}
    </ul>
  );
}

interface NetworkFactProps {
  readonly sandbox: Sandbox;
  readonly onOpen: () => void;
}

export function NetworkFact({ sandbox, onOpen }: NetworkFactProps) {
  const refused = useStore(refusals)[sandbox.sandbox_id] ?? [];
  return (
    <button
      type="button"
      className={refused.length > 0 ? 'pop-face fact fact-warn' : 'pop-face fact'}
      title={t`What its egress proxy lets through`}
      onClick={onOpen}
    >
      <Icon name="network" />
      {t`network ${sandbox.network_mode}`}
      {refused.length > 0 && ` · ${t`${refused.length} refused`}`}
    </button>
  );
}

/** The task's words, and instructions for the first agent with whether it received them. */
function Task({ sandbox }: { readonly sandbox: Sandbox }) {
  const { task, setup_metadata: setup } = sandbox;
  const { instructions, instructions_ref: source, instructed } = setup;
  return (
    <>
      {task !== null && (
        <details className="instructions">
          <summary>
            {t`Task:`} <span className="task-words">{task.prompt.trim().split('\n', 1)}</span>
          </summary>
          <pre>{task.prompt}</pre>
        </details>
      )}
      {instructions && (
        <details className="instructions">
          <summary>
            {source ? t`Instructions from ${source}` : t`Instructions`}:{' '}
            {instructed ? t`its agent has them` : t`for its first agent`}
          </summary>
          <pre>{instructions}</pre>
        </details>
      )}
    </>
  );
}
