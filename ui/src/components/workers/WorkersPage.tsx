/** Workers: the list of them, and one at `#/workers/<worker_id>`. */

import '../../styles/workers.css';
import { questionsOf, workersApi, type Worker } from '../../api/workers';
import { plural, t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { useBeat } from '../../state/workers/useBeat';
import { Listed, useListed } from '../parts/Listed';
import { MenuButton } from '../parts/MenuButton';
import { Empty } from '../parts/States';
import { PlainFacts, routeLine, WorkerMark } from './marks';
import { WorkerView } from './WorkerView';

interface WorkersPageProps {
  readonly id: string | null;
  readonly onMenu: () => void;
}

/** No event tells of workers: the list is asked for this often. */
const LOOK_MS = 5_000;

const workers = (): Promise<readonly Worker[]> => workersApi.list();

export function WorkersPage({ id, onMenu }: WorkersPageProps) {
  return id === null ? <Workers onMenu={onMenu} /> : <WorkerView key={id} {...{ id, onMenu }} />;
}

function Workers({ onMenu }: { readonly onMenu: () => void }) {
  const asked = useListed(workers, useBeat(LOOK_MS));
  return (
    <main className="page" aria-label={t`Workers`}>
      <div className="page-body">
        <header className="page-head">
          <MenuButton onMenu={onMenu} />
          <h1>{t`Workers`}</h1>
        </header>
        <Listed
          asked={asked}
          what={t`workers`}
          empty={
            <Empty icon="agent">
              {t`No worker yet. ${(<code>atoll worker create NAME</code>)} starts an agent that programs and this page drive.`}
            </Empty>
          }
        >
          {(list) => (
            <ul className="secrets" aria-label={t`Workers`}>
              {list.map((worker) => (
                <Row key={worker.worker_id} worker={worker} />
              ))}
            </ul>
          )}
        </Listed>
      </div>
    </main>
  );
}

function Row({ worker }: { readonly worker: Worker }) {
  const now = useStore(tick);
  const { worker_id: id, status, reason, held_by_person: held, created_at: made } = worker;
  const asks = questionsOf(worker)?.length ?? 0;
  const why = routeLine(worker);
  return (
    <li className="secret worker">
      <div className="secret-words">
        <p className="secret-name">
          <a
            className="worker-name"
            href={`#/workers/${encodeURIComponent(id)}`}
            onClick={(event) => {
              event.preventDefault();
              goTo('workers', id);
            }}
          >
            {id}
          </a>
          <WorkerMark status={status} />
          {asks > 0 && (
            <span className="badge badge-warn">
              {plural(asks, { one: '# question', other: '# questions' })}
            </span>
          )}
          {held && <span className="badge">{t`at a terminal`}</span>}
          <time className="worker-age quiet" dateTime={made} title={made}>
            {age(made, now)}
          </time>
        </p>
        <PlainFacts worker={worker} />
        {reason !== null && reason !== '' && (
          <p className={status === 'stopped' ? 'quiet' : 'pop-bad'}>{reason}</p>
        )}
        {why !== '' && <p className="quiet worker-why">{why}</p>}
      </div>
    </li>
  );
}
