/** Every worker of the organization: whose it is, where and why, and how it ended. What its agent
 *  says is its owner's alone. */

import '../../styles/workers.css';
import { useCallback, useState } from 'react';
import { overviewApi, type OverseenWorker } from '../../api/overview';
import { removalOf } from '../../api/workers';
import { plural, t, worded } from '../../language/t';
import { age, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { memberName } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { useBeat } from '../../state/workers/useBeat';
import { Listed, useListed } from '../parts/Listed';
import { Segments } from '../parts/Segments';
import { Empty } from '../parts/States';
import { KeptMark, RemovalBadge } from '../workers/details';
import { backendWords, HeartbeatMark, PlaceMark, routeLine, WorkerMark } from '../workers/marks';
import { WorkerBackends } from './WorkerBackends';

const LOOK_MS = 5_000;

type Shown = 'all' | 'running' | 'troubled';
const SHOWN = worded<readonly { value: Shown; words: string }[]>(() => [
  { value: 'all', words: t`All` },
  { value: 'running', words: t`Running` },
  { value: 'troubled', words: t`In trouble` },
]);

export function EveryWorker({ organization }: { readonly organization: string }) {
  const ask = useCallback(() => overviewApi.workers(organization), [organization]);
  const asked = useListed<OverseenWorker>(ask, useBeat(LOOK_MS));
  const [shown, setShown] = useState<Shown>('all');
  return (
    <>
      <section>
        <h2>{t`Workers`}</h2>
        <Listed
          asked={asked}
          what={t`workers`}
          empty={<Empty icon="agent">{t`Nobody has a worker.`}</Empty>}
        >
          {(list) => (
            <>
              <Backends list={list} />
              <Segments legend={t`Shown`} choices={SHOWN()} chosen={shown} onChoose={setShown} />
              <Rows list={list.filter((one) => isShown(one, shown))} />
            </>
          )}
        </Listed>
      </section>
      <WorkerBackends organization={organization} />
    </>
  );
}

/** Whether it failed, is not heard, or left something behind. */
function isTroubled(worker: OverseenWorker): boolean {
  const { status, heartbeat_state: heart } = worker;
  return status === 'failed' || heart === 'missing' || (removalOf(worker)?.left.length ?? 0) > 0;
}

function isShown(worker: OverseenWorker, shown: Shown): boolean {
  if (shown === 'troubled') return isTroubled(worker);
  return shown === 'all' || worker.status === 'running';
}

/** How many each backend has: those that run, and those in trouble. */
function Backends({ list }: { readonly list: readonly OverseenWorker[] }) {
  const now = new Map<string, { running: number; troubled: number }>();
  for (const worker of list) {
    const name = backendWords(worker);
    const { running, troubled } = now.get(name) ?? { running: 0, troubled: 0 };
    now.set(name, {
      running: running + (worker.status === 'running' ? 1 : 0),
      troubled: troubled + (isTroubled(worker) ? 1 : 0),
    });
  }
  return (
    <ul className="facts worker-backends" aria-label={t`Workers by backend`}>
      {[...now].sort().map(([name, { running, troubled }]) => (
        <li key={name} className={troubled > 0 ? 'fact fact-bad' : 'fact'}>
          {name}: {plural(running, { one: '# runs', other: '# run' })}
          {troubled > 0 && `, ${plural(troubled, { one: '# in trouble', other: '# in trouble' })}`}
        </li>
      ))}
    </ul>
  );
}

function Rows({ list }: { readonly list: readonly OverseenWorker[] }) {
  if (list.length === 0) return <Empty icon="agent">{t`There is no such worker.`}</Empty>;
  return (
    <ul className="secrets" aria-label={t`Workers`}>
      {list.map((one) => (
        <Row key={`${one.owner} ${one.worker_id}`} worker={one} />
      ))}
    </ul>
  );
}

function Row({ worker }: { readonly worker: OverseenWorker }) {
  const now = useStore(tick);
  const ours = useStore(team);
  const { worker_id: id, owner, status, reason, created_at: made } = worker;
  const why = routeLine(worker);
  return (
    <li className="secret worker-overseen">
      <div className="secret-words">
        <p className="secret-name">
          {id}
          <WorkerMark status={status} />
          {worker.held_by_person && <span className="badge">{t`at a terminal`}</span>}
          <RemovalBadge worker={worker} />
          <time className="worker-age quiet" dateTime={made} title={made}>
            {age(made, now)}
          </time>
        </p>
        <ul className="facts">
          <li className="fact">{t`${worker.agent} of ${memberName(ours, owner)}`}</li>
          <li>
            <HeartbeatMark worker={worker} />
          </li>
          <li>
            <PlaceMark worker={worker} />
          </li>
          <li>
            <KeptMark worker={worker} />
          </li>
        </ul>
        {reason !== null && reason !== '' && (
          <p className={status === 'stopped' ? 'quiet' : 'pop-bad'}>{reason}</p>
        )}
        {why !== '' && <p className="quiet worker-why">{why}</p>}
      </div>
    </li>
  );
}
