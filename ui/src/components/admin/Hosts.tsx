/** The machines that sandboxes are placed on, and how backends fared at each place. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { overviewApi, type Host, type HostKeys, type PlaceHealth } from '../../api/overview';
import { plural, t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { Confirm } from '../parts/Dialog';
import { Listed, useListed, type AskedList } from '../parts/Listed';
import { Empty } from '../parts/States';
import { costWords } from '../parts/words';
import { HostKey } from './HostKey';

const hosts = (): Promise<readonly Host[]> => overviewApi.hosts();
const health = (): Promise<readonly PlaceHealth[]> => overviewApi.health();

export function Hosts() {
  const asked = useListed(hosts);
  if (asked.problem instanceof Problem && asked.problem.status === 403)
    return <p className="empty">{t`Hosts are shown to whoever runs this installation.`}</p>;
  return (
    <>
      <section>
        <h2>{t`Hosts`}</h2>
        <Listed
          asked={asked}
          what={t`hosts`}
          empty={<Empty icon="grid">{t`There is no host.`}</Empty>}
        >
          {(list) => <Machines list={list} asked={asked} />}
        </Listed>
        <p className="quiet">
          {t`${(<code>atoll host add ssh://user@box</code>)} adds a Linux machine that SSH reaches.`}
        </p>
      </section>
      <Places />
    </>
  );
}

interface MachinesProps {
  readonly list: readonly Host[];
  readonly asked: AskedList<Host>;
}

function Machines({ list, asked }: MachinesProps) {
  const [draining, setDraining] = useState<Host | null>(null);
  const [checked, setChecked] = useState<{ host: Host; keys: HostKeys } | null>(null);

  function turn(host: Host, act: 'drain' | 'undrain'): void {
    overviewApi.drain(host.host_id, act).then(
      () => {
        notify(
          act === 'drain'
            ? t`${host.name} takes no new sandbox.`
            : t`${host.name} takes sandboxes again.`,
        );
        asked.reload();
      },
      notifyFailure(t`${host.name} was not changed`),
    );
  }

  function check(host: Host): void {
    overviewApi
      .trust(host.host_id)
      .then((keys) => setChecked({ host, keys }), notifyFailure(t`${host.name} was not asked`));
  }

  return (
    <>
      <ul className="secrets" aria-label={t`Hosts`}>
        {list.map((host) => (
          <Machine
            key={host.host_id}
            host={host}
            onDrain={() => setDraining(host)}
            onUndrain={() => turn(host, 'undrain')}
            onKey={() => check(host)}
          />
        ))}
      </ul>
      {checked !== null && <HostKey {...checked} onClose={() => setChecked(null)} />}
      {draining !== null && (
        <Confirm
          title={t`Drain ${draining.name}?`}
          action={t`Drain`}
          onClose={() => setDraining(null)}
          onConfirm={() => turn(draining, 'drain')}
        >
          <p>
            {t`No new sandbox is placed there. Those on it go on, and stopped ones can be started again.`}
          </p>
        </Confirm>
      )}
    </>
  );
}

const STATES = worded<Readonly<Record<Host['state'], string>>>(() => ({
  active: t`takes sandboxes`,
  draining: t`drained`,
}));

interface MachineProps {
  readonly host: Host;
  readonly onDrain: () => void;
  readonly onUndrain: () => void;
  readonly onKey: () => void;
}

function Machine({ host, onDrain, onUndrain, onKey }: MachineProps) {
  const { name, kind, address, region, state, organization, profile } = host;
  const drained = state === 'draining';
  const notes = [
    kind === 'local' ? t`this machine` : address,
    region,
    organization === null ? '' : t`only for organization ${organization}`,
    profile === null ? '' : t`only for ${profile}`,
    host.cost_per_hour === null ? '' : t`${costWords(host.cost_per_hour)} per hour`,
  ];
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {name}
          <span className={drained ? 'badge badge-warn' : 'badge badge-ok'}>{STATES()[state]}</span>
        </p>
        <p className="quiet">{notes.filter((one) => one !== '').join(' · ')}</p>
        <p className="quiet">{roomWords(host)}</p>
      </div>
      <div className="secret-acts">
        {kind === 'ssh' && (
          <button
            type="button"
            className="button button-small"
            aria-label={t`Check key of ${name}`}
            onClick={onKey}
          >
            {t`Check key`}
          </button>
        )}
        <button
          type="button"
          className="button button-small"
          aria-label={drained ? t`End the draining of ${name}` : t`Drain ${name}`}
          onClick={drained ? onUndrain : onDrain}
        >
          {drained ? t`Undrain` : t`Drain`}
        </button>
      </div>
    </li>
  );
}

/** What runs there, beside what may. */
function roomWords({ used, capacity, overcommit, kept }: Host): string {
  const of = (taken: number | null, most: number | null, factor: number): string => {
    const now = String(rounded(taken ?? 0));
    return most === null ? now : t`${now} of ${String(rounded(most * factor))}`;
  };
  const parts = [
    t`sandboxes: ${of(used.sandboxes, capacity.sandboxes, 1)}`,
    t`cores: ${of(used.cpu, capacity.cpu, overcommit)}`,
    t`memory in MB: ${of(used.memory_mb, capacity.memory_mb, overcommit)}`,
    kept === 0 ? '' : plural(kept, { one: '# is stopped', other: '# are stopped' }),
  ];
  return parts.filter((one) => one !== '').join(' · ');
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** How starts went in the last day, as routes see it; nothing for who does not run the
 *  installation. */
function Places() {
  const asked = useListed(health);
  if (asked.problem instanceof Problem && asked.problem.status === 403) return null;
  return (
    <section>
      <h2>{t`Starts in the last day`}</h2>
      <Listed
        asked={asked}
        what={t`measurements`}
        empty={<Empty icon="clock">{t`Nothing was started yet.`}</Empty>}
      >
        {(list) => (
          <ul className="secrets" aria-label={t`Starts in the last day`}>
            {list.map((one) => (
              <Place key={`${one.extension} ${one.place}`} measured={one} />
            ))}
          </ul>
        )}
      </Listed>
    </section>
  );
}

const BREAKERS = worded<Readonly<Record<PlaceHealth['health']['breaker'], string>>>(() => ({
  closed: t`healthy`,
  open: t`not tried for a while`,
  'half-open': t`tried once more`,
}));

function Place({ measured }: { readonly measured: PlaceHealth }) {
  const { extension, place, health: found } = measured;
  const { attempts, success, p50_ms: median, p95_ms: slow, breaker } = found;
  const notes = [
    plural(attempts, { one: '# start', other: '# starts' }),
    success === null ? '' : t`${String(Math.round(success * 100))} % came up`,
    median === null ? '' : t`half of them within ${String(median)} ms`,
    slow === null ? '' : t`nearly all within ${String(slow)} ms`,
  ];
  return (
    <li className="secret">
      <div className="secret-words">
        <p className="secret-name">
          {place === '' ? extension : t`${extension} at ${place}`}
          <span className={breaker === 'closed' ? 'badge badge-ok' : 'badge badge-bad'}>
            {BREAKERS()[breaker]}
          </span>
        </p>
        <p className="quiet">{notes.filter((one) => one !== '').join(' · ')}</p>
      </div>
    </li>
  );
}
