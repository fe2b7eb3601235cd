/** One sandbox in the list of all: a row, or on a narrow screen a card. */

import type { Overseen } from '../../api/overview';
import { plural, t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { countWords } from '../../state/overview/plot';
import { go } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { memberName } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';
import { Icon } from '../parts/icons';
import { sizeWords } from '../parts/words';
import { StateMark } from '../sandboxes/StateMark';

interface EveryRowProps {
  readonly index: number;
  /** Its height. */
  readonly tall: number;
  readonly narrow: boolean;
  /** Undefined until it is fetched. */
  readonly row: Overseen | undefined;
  readonly onEnd: (row: Overseen, act: 'stop' | 'destroy') => void;
}

const STOPPABLE = ['ready', 'active'];

export function EveryRow({ index, tall, row, onEnd }: EveryRowProps) {
  const now = useStore(tick);
  const ours = useStore(team);
  const place = { height: tall, transform: `translateY(${index * tall}px)` };
  if (row === undefined) {
    return (
      <div className="every-row every-item" role="row" aria-rowindex={index + 2} style={place}>
        <div role="cell" className="every-wait">
          <span className="spoken">{t`Loading`}</span>
        </div>
      </div>
    );
  }
  const { counts, agents, working, waiting } = row;
  const owner = memberName(ours, row.owner);
  return (
    <div
      className="every-row every-item"
      role="row"
      aria-rowindex={index + 2}
      data-sandbox={row.sandbox_id}
      style={place}
    >
      <div role="cell" className="every-name">
        <Name row={row} />
        {row.scope === 'shared' && <span className="badge">{t`shared`}</span>}
      </div>
      <div role="cell" className="every-state" title={row.reason ?? undefined}>
        <StateMark state={row.state} />
      </div>
      <div role="cell" className="every-owner">
        <Avatar name={owner} principal={row.owner} />
        <span className="every-cut">{owner}</span>
      </div>
      <div role="cell" className="every-age">
        <time dateTime={row.created_at} title={new Date(row.created_at).toLocaleString()}>
          {age(row.created_at, now)}
        </time>
      </div>
      <div role="cell" className="every-agents">
        {agentWords(agents, working, waiting)}
      </div>
      <div role="cell" className="every-tokens">
        {countWords(counts.tokens_in + counts.tokens_out)}
        <span className="every-unit"> {t`tokens`}</span>
      </div>
      <div role="cell" className="every-traffic">
        {sizeWords(counts.bytes_in + counts.bytes_out)}
      </div>
      <div role="cell" className="every-acts">
        {STOPPABLE.includes(row.state) && (
          <button
            type="button"
            className="button-icon"
            aria-label={t`Stop ${row.name}`}
            title={t`Stop`}
            onClick={() => onEnd(row, 'stop')}
          >
            <Icon name="stop" />
          </button>
        )}
        {!row.state.startsWith('destroy') && (
          <button
            type="button"
            className="button-icon button-destroy"
            aria-label={t`Destroy ${row.name}`}
            title={t`Destroy`}
            onClick={() => onEnd(row, 'destroy')}
          >
            <Icon name="destroy" />
          </button>
        )}
      </div>
    </div>
  );
}

/** The name, which leads to the sandbox where the reader may see into it. */
function Name({ row }: { readonly row: Overseen }) {
  const list = useStore(sandboxes);
  const seen = list?.some(({ sandbox_id: id }) => id === row.sandbox_id) ?? false;
  if (!seen) return <span className="every-cut">{row.name}</span>;
  return (
    <a
      className="every-cut"
      href={`#/sandboxes/${encodeURIComponent(row.sandbox_id)}`}
      onClick={(event) => {
        event.preventDefault();
        go(row.sandbox_id);
      }}
    >
      {row.name}
    </a>
  );
}

/** What its agents do, most urgent first: those that wait need their person. */
export function agentWords(agents: number, working: number, waiting: number): string {
  if (waiting > 0) return t`${waiting} waiting`;
  if (working > 0) return plural(working, { one: '# at work', other: '# at work' });
  if (agents > 0) return plural(agents, { one: '# idle', other: '# idle' });
  return '–';
}
