/** Where the workers of the organization run and were lost; and how starts went there, for who runs
 *  the installation. */

import { useCallback } from 'react';
import { overviewApi, type WorkerBackend } from '../../api/overview';
import { t, worded } from '../../language/t';
import { useBeat } from '../../state/workers/useBeat';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';
import { backendWords } from '../workers/marks';

const LOOK_MS = 30_000;
const NONE = '–';

const STATES = worded<Readonly<Record<NonNullable<WorkerBackend['breaker']>, string>>>(() => ({
  closed: t`healthy`,
  open: t`not tried for a while`,
  half_open: t`tried once more`,
}));

export function WorkerBackends({ organization }: { readonly organization: string }) {
  const ask = useCallback(() => overviewApi.backends(organization), [organization]);
  const asked = useListed<WorkerBackend>(ask, useBeat(LOOK_MS));
  return (
    <section>
      <h2>{t`Backends in the last day`}</h2>
      <Listed
        asked={asked}
        what={t`backends`}
        empty={<Empty icon="clock">{t`No worker runs on a backend, and none was lost.`}</Empty>}
      >
        {(list) => <Table list={list} />}
      </Listed>
    </section>
  );
}

function Table({ list }: { readonly list: readonly WorkerBackend[] }) {
  const measured = list.some((one) => one.breaker !== null);
  return (
    <div
      className="backend-table"
      tabIndex={0}
      role="group"
      aria-label={t`Backends in the last day`}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">{t`Backend`}</th>
            {measured && (
              <>
                <th scope="col">{t`State`}</th>
                <th scope="col">{t`Came up`}</th>
                <th scope="col">{t`Half within`}</th>
                <th scope="col">{t`Nearly all within`}</th>
              </>
            )}
            <th scope="col">{t`Workers`}</th>
            <th scope="col">{t`Lost`}</th>
          </tr>
        </thead>
        <tbody>
          {list.map((one) => (
            <Row key={keyOf(one)} backend={one} measured={measured} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row(shown: { readonly backend: WorkerBackend; readonly measured: boolean }) {
  const { placement, breaker, success, p50_ms: half, p95_ms: most, workers, lost } = shown.backend;
  const where = placement.host || placement.region;
  const name = backendWords(placement);
  return (
    <tr>
      <th scope="row">{where === '' ? name : t`${name} at ${where}`}</th>
      {shown.measured && (
        <>
          <td>{breaker === null ? NONE : <State breaker={breaker} />}</td>
          <td>{success === null ? NONE : t`${String(Math.round(success * 100))} %`}</td>
          <td>{half === null ? NONE : t`${String(half)} ms`}</td>
          <td>{most === null ? NONE : t`${String(most)} ms`}</td>
        </>
      )}
      <td>{workers}</td>
      <td className={lost > 0 ? 'backend-lost' : ''}>{lost}</td>
    </tr>
  );
}

function State({ breaker }: { readonly breaker: NonNullable<WorkerBackend['breaker']> }) {
  const tone = breaker === 'closed' ? 'badge badge-ok' : 'badge badge-bad';
  return <span className={tone}>{STATES()[breaker]}</span>;
}

const keyOf = ({ placement }: WorkerBackend): string =>
  `${placement.extension} ${placement.host} ${placement.region}`;
