/** Marks of a worker: its state, its heartbeat, where it is and why there, and what it used. */

import {
  desktopOf,
  usageOf,
  type HeartbeatState,
  type Worker,
  type WorkerStatus,
} from '../../api/workers';
import type { Isolation, SandboxState } from '../../api/types';
import { plural, t, worded } from '../../language/t';
import { duration } from '../../state/clock';
import { go } from '../../state/route';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { Wall } from '../sandboxes/isolation/IsolationMark';
import {
  Decided,
  placeWords,
  type Decision,
  type PlaceNamed,
} from '../sandboxes/isolation/RouteNote';
import { StateShape } from '../sandboxes/StateMark';
import { agentWords, ArtifactsMark, CreatedMark, KeptMark } from './details';

const STATUSES = worded<Readonly<Record<WorkerStatus, { words: string; like: SandboxState }>>>(
  () => ({
    starting: { words: t`Starting`, like: 'provisioning' },
    running: { words: t`Running`, like: 'active' },
    stopping: { words: t`Stopping`, like: 'destroying' },
    stopped: { words: t`Stopped`, like: 'stopped' },
    failed: { words: t`Failed`, like: 'failed' },
  }),
);

export function WorkerMark({ status }: { readonly status: WorkerStatus }) {
  const { words, like } = STATUSES()[status];
  return (
    <span className={`state state-${like}`} data-status={status}>
      <StateShape state={like} />
      {words}
    </span>
  );
}

const HEARTBEATS = worded<Readonly<Record<HeartbeatState, { words: string; tone: string }>>>(
  () => ({
    fresh: { words: t`heartbeat fresh`, tone: '' },
    stale: { words: t`heartbeat stale`, tone: 'fact-warn' },
    missing: { words: t`heartbeat missing`, tone: 'fact-bad' },
    stopped: { words: t`no heartbeat`, tone: '' },
    failed: { words: t`no heartbeat`, tone: '' },
  }),
);

/** Whether its host is heard, and for how long it was not. */
export function heartbeatWords({
  heartbeat_state: state,
  heartbeat_age_ms: age,
}: Pick<Worker, 'heartbeat_state' | 'heartbeat_age_ms'>): string {
  const { words } = HEARTBEATS()[state];
  const late = state === 'stale' || state === 'missing';
  return late ? t`${words} for ${duration(age / 1000)}` : words;
}

/** What is shown of a worker's place, whoever looks: its owner or an administrator. */
export type Placed = Pick<
  Worker,
  | 'backend'
  | 'extension'
  | 'sandbox'
  | 'route'
  | 'status'
  | 'reason'
  | 'heartbeat_state'
  | 'heartbeat_age_ms'
  | 'teardown'
  | 'remove_at'
  | 'torn_down'
>;

export function HeartbeatMark({ worker }: { readonly worker: Placed }) {
  const { heartbeat_state: state, heartbeat_age_ms: age } = worker;
  return (
    <span
      className={`fact ${HEARTBEATS()[state].tone}`}
      data-heartbeat={state}
      title={t`Its host was heard ${duration(age / 1000)} ago`}
    >
      <Icon name="pulse" />
      {heartbeatWords(worker)}
    </span>
  );
}

/** Where it is; why there and what its wall gives, in full on request. */
export function PlaceMark({ worker }: { readonly worker: Placed }) {
  const { route, sandbox } = worker;
  const isolation = sandbox?.isolation ?? null;
  const summary = (
    <>
      <Icon name="shield" />
      {whereWords(worker)}
    </>
  );
  if (route === null && isolation === null) return <span className="fact">{summary}</span>;
  return (
    <Pop summary={summary} tone={toneOf(isolation)}>
      {() => (
        <>
          {isolation !== null && <Wall isolation={isolation} />}
          {route !== null && <Decided route={decisionOf(route)} now={placeOf(worker)} />}
        </>
      )}
    </Pop>
  );
}

/** Its backend; one of somebody else's has no word of its own. */
export function backendWords({ backend, extension }: Pick<Placed, 'backend' | 'extension'>) {
  if (backend === null) return t`no backend yet`;
  return backend === 'extension' && extension !== null ? extension : backend;
}

function whereWords(worker: Placed): string {
  const { backend: word, sandbox } = worker;
  const backend = backendWords(worker);
  if (word === null) return backend;
  const where = sandbox?.region ?? sandbox?.host ?? '';
  const words = where === '' ? backend : t`${backend} at ${where}`;
  return sandbox?.isolation?.weak === true ? t`${words}, weak isolation` : words;
}

function toneOf(isolation: Isolation | null): '' | 'fact-warn' | 'fact-bad' {
  if (isolation?.weak === true) return 'fact-bad';
  return isolation !== null && isolation.degraded.length > 0 ? 'fact-warn' : '';
}

function placeOf({ extension, backend, sandbox }: Placed): PlaceNamed {
  return { extension: extension ?? backend ?? '', host: sandbox?.host ?? '' };
}

function decisionOf(route: NonNullable<Worker['route']>): Decision {
  return {
    strategy: route.strategy,
    chosen: route.chosen,
    candidates: route.candidates.map(({ placement, fit, reasons }) => ({
      ...placement,
      fit,
      reasons,
    })),
    attempts: route.attempts.map(({ placement, at, reason }) => ({ ...placement, at, reason })),
    moves: [],
  };
}

/** Why it is not elsewhere, in a line: what failed, and what was left out. */
export function routeLine({ route }: Pick<Worker, 'route'>): string {
  if (route === null) return '';
  const failed = route.attempts.map((one) => t`${placeWords(one.placement)} failed: ${one.reason}`);
  const left = route.candidates
    .filter(({ fit }) => !fit)
    .map(({ placement, reasons }) => `${placeWords(placement)}: ${reasons.join(', ')}`);
  return [...failed, ...left].join(' · ');
}

/** What the broker counted; nothing where it was not asked. */
function UsageMark({ worker }: { readonly worker: Worker }) {
  const usage = usageOf(worker);
  if (usage === null) return null;
  const { requests, input, output, cached } = usage;
  const count = (value: number): string => value.toLocaleString();
  return (
    <span className="fact" title={t`${count(cached)} of the tokens in came from a cache`}>
      <Icon name="network" />
      {plural(requests, { one: '# model call', other: '# model calls' })}
      {' · '}
      {t`${count(input)} tokens in, ${count(output)} out`}
    </span>
  );
}

/** Leads to its sandbox; a person's own machine is none. */
function SandboxLink({ worker }: { readonly worker: Worker }) {
  const list = useStore(sandboxes);
  const id = worker.sandbox?.id ?? null;
  if (id === null || desktopOf(worker) !== null) return null;
  const name = list?.find((one) => one.sandbox_id === id)?.name ?? id;
  return (
    <a
      className="fact fact-link"
      href={`#/sandboxes/${encodeURIComponent(id)}`}
      onClick={(event) => {
        event.preventDefault();
        go(id);
      }}
    >
      <Icon name="terminal" />
      {t`sandbox ${name}`}
    </a>
  );
}

interface FactsProps {
  readonly worker: Worker;
  readonly onErased: ((last: number) => void) | null;
}

/** Everything in a row, each in full on request. */
export function WorkerFacts({ worker, onErased }: FactsProps) {
  return (
    <ul className="facts">
      <li>
        <HeartbeatMark worker={worker} />
      </li>
      <li>
        <PlaceMark worker={worker} />
      </li>
      <li>
        <CreatedMark worker={worker} onErased={onErased} />
      </li>
      {usageOf(worker) !== null && (
        <li>
          <UsageMark worker={worker} />
        </li>
      )}
      <ArtifactsMark worker={worker} />
      {worker.sandbox !== null && desktopOf(worker) === null && (
        <li>
          <SandboxLink worker={worker} />
        </li>
      )}
      <li>
        <KeptMark worker={worker} />
      </li>
    </ul>
  );
}

/** The same in a line of a list, where nothing is to be pressed. */
export function PlainFacts({ worker }: { readonly worker: Worker }) {
  return (
    <ul className="facts">
      <li>
        <HeartbeatMark worker={worker} />
      </li>
      <li>
        <span className={`fact ${toneOf(worker.sandbox?.isolation ?? null)}`}>
          <Icon name="shield" />
          {whereWords(worker)}
        </span>
      </li>
      <li>
        <span className="fact">
          <Icon name="agent" />
          {agentWords(worker)}
        </span>
      </li>
      {usageOf(worker) !== null && (
        <li>
          <UsageMark worker={worker} />
        </li>
      )}
    </ul>
  );
}
