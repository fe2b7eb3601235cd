/** Workers: the list of them, and one at `#/workers/<worker_id>`. */

import '../../styles/workers.css';
import { useEffect, useState } from 'react';
import { questionsOf, workersApi, type Desktop, type Worker } from '../../api/workers';
import { plural, t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { useBeat } from '../../state/workers/useBeat';
import { pageCommands } from '../frame/page-commands';
import { Icon } from '../parts/icons';
import { Listed, useListed } from '../parts/Listed';
import { Page } from '../parts/Page';
import { Empty } from '../parts/States';
import { CreateWorker } from './CreateWorker';
import { Desktops } from './Desktops';
import { RemovalBadge } from './details';
import { PlainFacts, routeLine, WorkerMark } from './marks';
import { WorkerView } from './WorkerView';

interface WorkersPageProps {
  readonly id: string | null;
  readonly onMenu: () => void;
}

/** No event tells of workers: the list is asked for this often. */
const LOOK_MS = 5_000;

const workers = (): Promise<readonly Worker[]> => workersApi.list();
const desktops = (): Promise<readonly Desktop[]> => workersApi.desktops();
const nothing = (): Promise<readonly Desktop[]> => Promise.resolve([]);

export function WorkersPage({ id, onMenu }: WorkersPageProps) {
  return id === null ? <Workers onMenu={onMenu} /> : <WorkerView key={id} {...{ id, onMenu }} />;
}

function Workers({ onMenu }: { readonly onMenu: () => void }) {
  const beat = useBeat(LOOK_MS);
  const works = mayWork(useStore(team));
  const asked = useListed(workers, beat);
  const linked = useListed(works ? desktops : nothing, beat);
  const [creating, setCreating] = useState(false);
  useEffect(() => {
    if (!works) return;
    const run = (): void => setCreating(true);
    pageCommands.set([{ id: 'new worker', words: t`New worker`, icon: 'plus', run }]);
    return () => pageCommands.set([]);
  }, [works]);
  const list = asked.list ?? [];
  return (
    <Page
      title={t`Workers`}
      onMenu={onMenu}
      acts={
        works && (
          <button type="button" className="button button-primary" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            {t`New worker`}
          </button>
        )
      }
    >
      <Listed
        asked={asked}
        what={t`workers`}
        empty={
          <Empty icon="agent">
            {t`No worker yet. A worker is an agent that programs and this page drive.`}
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
      {works && <Desktops asked={linked} workers={list} />}
      {creating && (
        <CreateWorker
          taken={new Set(list.map(({ worker_id: id }) => id))}
          desktops={linked.list ?? []}
          onClose={() => setCreating(false)}
        />
      )}
    </Page>
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
          <RemovalBadge worker={worker} />
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
