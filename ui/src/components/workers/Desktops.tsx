/** The person's own machines that are linked: whether they take workers, and how to link one. */

import { useState } from 'react';
import { workersApi, type Desktop, type Worker } from '../../api/workers';
import { t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agoWords, tick } from '../../state/clock';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { visible } from '../../unseen';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Listed, type AskedList } from '../parts/Listed';
import { CopyLine } from '../parts/OnceShown';
import { Pop } from '../parts/Pop';
import { Wall } from '../sandboxes/isolation/IsolationMark';
import { heartbeatWords } from './marks';

interface DesktopsProps {
  readonly asked: AskedList<Desktop>;
  /** The workers that are known, for how those on a machine are doing. */
  readonly workers: readonly Worker[];
}

export function Desktops({ asked, workers }: DesktopsProps) {
  const [ending, setEnding] = useState<Desktop | null>(null);

  function unlink({ name }: Desktop): void {
    workersApi.unlink(name).then(
      () => {
        notify(t`${name} is not linked any more.`);
        asked.reload();
      },
      notifyFailure(t`${name} was not unlinked`),
    );
  }

  return (
    <section aria-label={t`Your own machines`}>
      <h2>{t`Your own machines`}</h2>
      <Listed asked={asked} what={t`linked machines`} empty={<Linking first />}>
        {(list) => (
          <>
            <ul className="secrets" aria-label={t`Your own machines`}>
              {list.map((one) => (
                <Row
                  key={one.name}
                  desktop={one}
                  workers={workers}
                  onUnlink={() => setEnding(one)}
                />
              ))}
            </ul>
            <details className="composer-more desktops-more">
              <summary>{t`Link another machine`}</summary>
              <Linking />
            </details>
          </>
        )}
      </Listed>
      {ending !== null && (
        <Confirm
          title={t`Unlink ${ending.name}?`}
          action={t`Unlink it`}
          danger
          onClose={() => setEnding(null)}
          onConfirm={() => unlink(ending)}
        >
          <p>
            {ending.workers.length === 0
              ? t`It takes no workers any more. Nothing on it is changed.`
              : t`What ${ending.workers.join(', ')} still says from there is refused. The files stay on the machine.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

const LANES = worded(() => ({
  runs: { words: t`takes workers`, badge: 'badge badge-ok' },
  silent: { words: t`not heard`, badge: 'badge badge-bad' },
  off: { words: t`does not run`, badge: 'badge' },
}));

/** Whether its lane runs, was cut off, or was ended. */
function laneOf({ present, heard_at: heard }: Desktop): 'runs' | 'silent' | 'off' {
  if (present) return 'runs';
  return heard === null ? 'off' : 'silent';
}

interface RowProps {
  readonly desktop: Desktop;
  readonly workers: readonly Worker[];
  readonly onUnlink: () => void;
}

function Row({ desktop, workers, onUnlink }: RowProps) {
  const now = useStore(tick);
  const { name, heard_at: heard, linked_at: linked, isolation } = desktop;
  const lane = laneOf(desktop);
  const { words, badge } = LANES()[lane];
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {name}
          <span className={badge} data-lane={lane}>
            {words}
          </span>
        </p>
        <p className="quiet">
          {lane === 'silent' && heard !== null && `${t`heard ${agoWords(heard, now)}`} · `}
          <time dateTime={linked} title={linked}>{t`linked ${agoWords(linked, now)}`}</time>
        </p>
        {isolation !== null && (
          <Pop
            summary={
              <>
                <Icon name="shield" />
                {isolation.weak ? t`weak isolation` : t`${isolation.level} isolation`}
              </>
            }
            tone={isolation.weak ? 'fact-bad' : isolation.degraded.length > 0 ? 'fact-warn' : ''}
          >
            {() => <Wall isolation={isolation} />}
          </Pop>
        )}
        {desktop.workers.length > 0 && (
          <ul className="desktop-workers" aria-label={t`Workers on ${name}`}>
            {desktop.workers.map((id) => (
              <Held key={id} id={id} worker={workers.find((one) => one.worker_id === id)} />
            ))}
          </ul>
        )}
      </div>
      <div className="secret-acts">
        <button
          type="button"
          className="button button-small button-destroy"
          aria-label={t`Unlink ${name}…`}
          onClick={onUnlink}
        >
          {t`Unlink…`}
        </button>
      </div>
    </li>
  );
}

/** A worker whose lease it has. */
function Held({ id, worker }: { readonly id: string; readonly worker: Worker | undefined }) {
  const heart = worker?.heartbeat_state;
  return (
    <li>
      <a
        className="fact fact-link"
        href={`#/workers/${encodeURIComponent(id)}`}
        onClick={(event) => {
          event.preventDefault();
          goTo('workers', id);
        }}
      >
        <Icon name="agent" />
        {visible(id)}
      </a>
      {worker !== undefined && (
        <span className={heart === 'missing' ? 'pop-bad' : 'quiet'} data-heartbeat={heart}>
          {heartbeatWords(worker)}
        </span>
      )}
    </li>
  );
}

/** The commands to run there, each with what it is for; the page comes from the server they name. */
function commands(): readonly (readonly [string, string])[] {
  const server = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
  return [
    ...(local
      ? []
      : [[t`To log that machine in here, once`, `atoll login --url ${server}`] as const]),
    [t`To link it, once`, 'atoll desktop link'],
    [t`For as long as it takes workers`, 'atoll desktop run'],
  ];
}

function Linking({ first = false }: { readonly first?: boolean }) {
  return (
    <div className={first ? 'linking blank' : 'linking'}>
      <p>
        {first
          ? t`No machine is linked. One of your own, such as a laptop, takes your workers while its lane runs, with its own login of the agent. Run there:`
          : t`Run on that machine:`}
      </p>
      {commands().map(([words, line]) => (
        <div key={line}>
          <p className="quiet">{words}</p>
          <CopyLine label={words} value={line} />
        </div>
      ))}
    </div>
  );
}
