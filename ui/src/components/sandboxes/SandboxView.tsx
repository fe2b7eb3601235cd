/** One sandbox in two rows, its name and state, and its tabs; and what the chosen tab shows. */

import { useEffect, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import type { Act } from '../../state/acts';
import { refusals } from '../../state/refusals';
import { go } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { mayManage, mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { look } from '../../state/work/unread';
import { later } from '../parts/later';
import { MenuButton } from '../parts/MenuButton';
import { repoWords } from '../parts/words';
import { TaskNote } from '../tasks/TaskNote';
import { Terminals } from '../terminals/Terminals';
import { ExposedMark } from './ExposedMark';
import { IsolationMark } from './isolation/IsolationMark';
import { LeftOutNote } from './LeftOutNote';
import { NextAct } from './NextAct';
import { OwnerMark } from './OwnerMark';
import { NetworkFact, SandboxMenu } from './SandboxMenu';
import { SetupNote } from './SetupNote';
import { StandingPill } from './StandingMark';
import { TimeLeft } from './TimeLeft';

const GiveDialog = later(async () => (await import('../team/GiveDialog')).GiveDialog);
const NetworkDialog = later(async () => (await import('../network/NetworkDialog')).NetworkDialog);

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
  const works = mayWork(ours);
  useEffect(() => look(sandbox, sandboxes.get() ?? []), [sandbox]);
  const [over, setOver] = useState<'give' | 'network' | null>(null);
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const onNetwork = (): void => setOver('network');
  const onGive = (): void => setOver('give');
  const close = (): void => setOver(null);
  return (
    <main className="sandbox" aria-label={t`Sandbox ${sandbox.name}`}>
      <header className="sandbox-head">
        <div className="sandbox-title">
          <MenuButton onMenu={onMenu} />
          <h1 title={titleOf(sandbox)}>{sandbox.name}</h1>
          <StandingPill sandbox={sandbox} />
          <ExposedMark sandbox={sandbox} />
          <OwnerMark sandbox={sandbox} named />
          <span className="sandbox-branch wide-only">{repoWords(sandbox)}</span>
          <Warnings {...{ sandbox, manages, onNetwork }} />
          <span className="spring" />
          <NextAct {...{ sandbox, manages, works }} />
          <div ref={setSlot} className="sandbox-people wide-only" />
          <SandboxMenu
            {...{ sandbox, manages, works, onAct, onHome, onPalette, onGive, onNetwork }}
          />
        </div>
        <SetupNote sandbox={sandbox} />
        <LeftOutNote sandbox={sandbox} />
        <TaskNote sandbox={sandbox} />
        <Reason sandbox={sandbox} />
      </header>
      <Terminals
        key={`${sandbox.sandbox_id} ${sandbox.generation}`}
        sandbox={sandbox}
        slot={slot}
        onPalette={onPalette}
      />
      {over === 'network' && <NetworkDialog sandbox={sandbox} onClose={close} />}
      {over === 'give' && (
        <GiveDialog
          given={{ ...sandbox, id: sandbox.sandbox_id }}
          onClose={close}
          onGiven={() => go(sandbox.sandbox_id)}
        />
      )}
    </main>
  );
}

function titleOf({ name, sandbox_id: id, task }: Sandbox): string {
  return task === null ? `${name} (${id})` : `${name} (${id}): ${task.prompt}`;
}

interface WarningsProps {
  readonly sandbox: Sandbox;
  readonly manages: boolean;
  readonly onNetwork: () => void;
}

/** Of what is behind the menu, what somebody should know now. */
function Warnings({ sandbox, manages, onNetwork }: WarningsProps) {
  const { isolation, ends_soon: soon, sandbox_id: id } = sandbox;
  const refused = (useStore(refusals)[id] ?? []).length > 0;
  return (
    <div className="sandbox-warnings">
      {isolation?.weak === true && <IsolationMark sandbox={sandbox} isolation={isolation} />}
      {manages && refused && <NetworkFact sandbox={sandbox} onOpen={onNetwork} />}
      {manages && soon && <TimeLeft sandbox={sandbox} />}
    </div>
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
