/** One sentence given to several agents: a column each, and the choice of the one to keep. */

import { use, useEffect, useState } from 'react';
import type { Sandbox, SandboxAgent } from '../../api/types';
import { t, worded } from '../../language/t';
import { isLive } from '../../state/acts';
import { aboutOf, changeWords, leadOf } from '../../state/attention/agents';
import { age, tick } from '../../state/clock';
import { go } from '../../state/route';
import { loadTerminals, terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { mayManage } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { clientId } from '../../terminal/attach/client-id';
import { PageHead } from '../parts/Page';
import { Segments } from '../parts/Segments';
import { StandingMark } from '../sandboxes/StandingMark';
import { Tile } from '../tiles/Tile';
import { CompareChanges } from './CompareChanges';
import { headOf, membersOf } from './draft';
import { KeepDialog } from './KeepDialog';

interface CompareProps {
  readonly list: readonly Sandbox[];
  readonly group: string | null;
  readonly onMenu: () => void;
}

export function Compare({ list, group, onMenu }: CompareProps) {
  const members = membersOf(list, group);
  const [keptId, setKeptId] = useState<string | null>(null);
  const [shows, setShows] = useState<Shown>('changes');
  const [path, setPath] = useState<string | null>(null);
  const ids = members
    .filter(isLive)
    .map(({ sandbox_id: id }) => id)
    .join(' ');
  useEffect(() => {
    for (const id of ids.split(' ').filter(Boolean)) loadTerminals(id).catch(() => undefined);
  }, [ids]);
  const ours = useStore(team);
  const keeps = members.length > 1 && members.every((one) => mayManage(ours, one));
  // By its id: what is known of it changes while the question stands.
  const kept = members.find(({ sandbox_id: id }) => id === keptId);
  const others = members.filter(({ sandbox_id: id }) => id !== keptId);
  return (
    <main className="compare" aria-label={t`Comparison`}>
      <PageHead title={headOf(members) || t`Nothing to compare`} onMenu={onMenu}>
        {members.length > 0 && (
          <Segments
            quiet
            legend={t`What is compared`}
            choices={SHOWN()}
            chosen={shows}
            onChoose={setShows}
          />
        )}
      </PageHead>
      {members.length === 0 && (
        <p className="log quiet">{t`The sandboxes of this task are gone. Home lists those that run.`}</p>
      )}
      <ul className="compare-columns" aria-label={t`Agents`}>
        {members.map((sandbox) => (
          <Column
            key={sandbox.sandbox_id}
            {...{ sandbox, shows, path }}
            onPath={setPath}
            onKeep={keeps ? () => setKeptId(sandbox.sandbox_id) : null}
          />
        ))}
      </ul>
      {kept !== undefined && <KeepDialog {...{ kept, others }} onClose={() => setKeptId(null)} />}
    </main>
  );
}

type Shown = 'changes' | 'terminals';

const SHOWN = worded<readonly { value: Shown; words: string }[]>(() => [
  { value: 'changes', words: t`Changes` },
  { value: 'terminals', words: t`Terminals` },
]);

interface ColumnProps {
  readonly sandbox: Sandbox;
  readonly shows: Shown;
  readonly path: string | null;
  readonly onPath: (path: string) => void;
  /** null where it is the only one, or the others are not the person's to end. */
  readonly onKeep: (() => void) | null;
}

function Column({ sandbox, shows, path, onPath, onKeep }: ColumnProps) {
  const { sandbox_id: id, agent, name, metadata, repos } = sandbox;
  const lead = leadOf(sandbox);
  return (
    <li className="compare-column">
      <h2>
        {agent ?? name}
        <StandingMark sandbox={sandbox} />
      </h2>
      <Facts sandbox={sandbox} lead={lead} />
      <p className="quiet compare-branch">{metadata.branch ?? name}</p>
      {shows === 'changes' && repos.length > 0 ? (
        <CompareChanges {...{ sandbox, path, onPath }} />
      ) : (
        <Screen sandbox={sandbox} lead={lead} />
      )}
      <div className="compare-acts">
        <button type="button" className="button" onClick={() => go(id, lead?.id ?? null)}>
          {t`Open`}
          <span className="spoken"> {name}</span>
        </button>
        {repos.length > 0 && (
          <button type="button" className="button" onClick={() => go(id, 'changes')}>
            {t`Changes`}
            <span className="spoken"> {t`of ${name}`}</span>
          </button>
        )}
        {onKeep !== null && (
          <button type="button" className="button button-primary" onClick={onKeep}>
            {t`Keep this one`}
            <span className="spoken">: {name}</span>
          </button>
        )}
      </div>
    </li>
  );
}

interface LeadProps {
  readonly sandbox: Sandbox;
  readonly lead: SandboxAgent | null;
}

/** What it changed, and its last sentence, or why it is not at work. */
function Facts({ sandbox, lead }: LeadProps) {
  return lead === null ? (
    <p className="compare-facts">{obstacleOf(sandbox)}</p>
  ) : (
    <Work sandbox={sandbox} lead={lead} />
  );
}

function obstacleOf({ task, project, reason }: Sandbox): string {
  const waits = task?.state === 'waiting' && project !== null && project.state !== 'done';
  if (waits) return t`Waits for the set-up, which is ${project.state}.`;
  return task?.reason ?? reason ?? t`No agent runs.`;
}

interface WorkProps {
  readonly sandbox: Sandbox;
  readonly lead: SandboxAgent;
}

function Work({ sandbox, lead }: WorkProps) {
  const now = useStore(tick);
  const { status } = lead;
  const changed = changeWords(sandbox.work ?? status) || t`no changes yet`;
  const said = status.status === 'done' ? status.on : aboutOf(lead);
  return (
    <div className="compare-facts">
      <p>
        {changed} <span className="quiet">· {age(status.since, now)}</span>
      </p>
      {said !== '' && <p>{said}</p>}
    </div>
  );
}

/** The agent's terminal, small and live; an agent without one has its cards behind Open. */
function Screen({ sandbox, lead }: LeadProps) {
  const client = use(clientId());
  const loaded = useStore(terminals)[sandbox.sandbox_id] ?? [];
  const terminal = loaded.find(
    ({ terminal_id: one, state }) => one === lead?.id && state !== 'exited',
  );
  if (terminal === undefined || !isLive(sandbox)) return null;
  return (
    <ul className="compare-screen" aria-label={t`Terminal of ${sandbox.name}`}>
      <Tile
        {...{ sandbox, terminal, client }}
        onOpen={() => go(sandbox.sandbox_id, terminal.terminal_id)}
      />
    </ul>
  );
}
