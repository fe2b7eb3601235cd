/** Home as a board: a column for each state of work, and what a card's move does. */

import { useState, type DragEvent } from 'react';
import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { leadOf } from '../../state/attention/agents';
import { go } from '../../state/route';
import { useStore } from '../../state/store';
import { mayManage } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { doWork, workActsOf, workActWords, type WorkAct } from '../../state/work/acts';
import { laneOf, LANES, laneWords, type Lane } from '../../state/work/lanes';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { StandingAbout, StandingMark } from '../sandboxes/StandingMark';
import '../../styles/work.css';

/** What a move to a column does, where the card allows it. */
const MOVES: Readonly<Partial<Record<Lane, WorkAct>>> = {
  review: 'unreview',
  reviewed: 'review',
  merged: 'merge',
};

const EMPTY = worded<Readonly<Partial<Record<Lane, string>>>>(() => ({
  reviewed: t`A card dropped here is reviewed`,
  merged: t`A card dropped here is merged`,
}));

export function WorkBoard({ list }: { readonly list: readonly Sandbox[] }) {
  const [dragged, setDragged] = useState<Sandbox | null>(null);
  const ours = useStore(team);
  const shown = list.filter(({ archived_at: at }) => at === null);
  const acts = dragged !== null && mayManage(ours, dragged) ? workActsOf(dragged) : [];
  return (
    <div className="work-board" role="group" aria-label={t`Board`} tabIndex={0}>
      {LANES.filter((lane) => lane !== 'none' || shown.some(isBare)).map((lane) => {
        const act = MOVES[lane];
        return (
          <Column
            key={lane}
            lane={lane}
            list={shown.filter((one) => laneOf(one) === lane)}
            takes={act !== undefined && acts.includes(act)}
            onDrag={setDragged}
            onDrop={() => {
              if (dragged !== null && act !== undefined) void doWork(dragged, act);
              setDragged(null);
            }}
          />
        );
      })}
    </div>
  );
}

function isBare(sandbox: Sandbox): boolean {
  return laneOf(sandbox) === 'none';
}

interface ColumnProps {
  readonly lane: Lane;
  readonly list: readonly Sandbox[];
  /** Whether the card that is dragged may be dropped here. */
  readonly takes: boolean;
  readonly onDrag: (sandbox: Sandbox | null) => void;
  readonly onDrop: () => void;
}

function Column({ lane, list, takes, onDrag, onDrop }: ColumnProps) {
  const over = (event: DragEvent): void => {
    if (takes) event.preventDefault();
  };
  const title = laneWords()[lane];
  return (
    <section
      className={takes ? 'work-column work-takes' : 'work-column'}
      aria-label={title}
      onDragOver={over}
      onDrop={(event) => {
        event.preventDefault();
        onDrop();
      }}
    >
      <h3>
        {title} <span className="quiet">{list.length}</span>
      </h3>
      <ul>
        {list.map((sandbox) => (
          <BoardCard key={sandbox.sandbox_id} sandbox={sandbox} onDrag={onDrag} />
        ))}
      </ul>
      {list.length === 0 && <p className="quiet work-empty">{EMPTY()[lane] ?? t`Nothing`}</p>}
    </section>
  );
}

interface BoardCardProps {
  readonly sandbox: Sandbox;
  readonly onDrag: (sandbox: Sandbox | null) => void;
}

function BoardCard({ sandbox, onDrag }: BoardCardProps) {
  const { sandbox_id: id, name, task } = sandbox;
  const manages = mayManage(useStore(team), sandbox);
  const lead = leadOf(sandbox);
  return (
    <li
      className="work-card"
      draggable={manages}
      onDragStart={(event) => {
        event.dataTransfer.effectAllowed = 'move';
        event.dataTransfer.setData('text/plain', name);
        onDrag(sandbox);
      }}
      onDragEnd={() => onDrag(null)}
    >
      <button type="button" className="work-face" onClick={() => go(id)}>
        <span className="work-name" title={name}>
          {name}
        </span>
        {task !== null && <span className="card-task">{task.prompt}</span>}
        <span className="work-note">
          <StandingMark sandbox={sandbox} />
          <StandingAbout sandbox={sandbox} agent={lead?.agent ?? null} />
        </span>
      </button>
      {manages && <Moves sandbox={sandbox} />}
    </li>
  );
}

/** The same acts as a drag has, by keyboard and finger. */
function Moves({ sandbox }: { readonly sandbox: Sandbox }) {
  const acts = workActsOf(sandbox);
  if (acts.length === 0) return null;
  return (
    <Pop
      className="button-icon work-moves"
      label={t`Move ${sandbox.name}`}
      summary={<Icon name="more" />}
    >
      {(close) => (
        <div className="menu-list">
          {acts.map((act) => (
            <button
              key={act}
              type="button"
              className="sandbox-act"
              onClick={() => {
                close();
                // After the menu has given the focus back, so that a dialog may take it.
                window.setTimeout(() => void doWork(sandbox, act));
              }}
            >
              <Icon name={act} />
              {workActWords()[act]}
            </button>
          ))}
        </div>
      )}
    </Pop>
  );
}
