/** One worker: how it is doing, what its agent did and asks, and a line to ask it. */

import { useCallback, useMemo, useState } from 'react';
import { Problem } from '../../api/call';
import { desktopOf, removalOf, threadsOf, workersApi, type Worker } from '../../api/workers';
import { t } from '../../language/t';
import { goTo } from '../../state/route';
import { notifyFailure } from '../../state/announce';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { askWorker, interruptTurn, takesRequests } from '../../state/workers/requests';
import type { Thread } from '../../state/workers/talk';
import { useBeat } from '../../state/workers/useBeat';
import { useTalk, type LiveTalk } from '../../state/workers/useTalk';
import type { SendAnswer } from '../agents/Answer';
import { AskBar } from '../agents/AskBar';
import { Talk } from '../agents/Talk';
import { useStill } from '../agents/useStill';
import { word } from '../../api/fields';
import { visible } from '../../unseen';
import { Icon } from '../parts/icons';
import { useListed } from '../parts/Listed';
import { MenuButton } from '../parts/MenuButton';
import { Loading, Trouble } from '../parts/States';
import { WorkerFacts, WorkerMark } from './marks';
import { WorkerActs } from './WorkerActs';

interface WorkerViewProps {
  readonly id: string;
  readonly onMenu: () => void;
}

/** Its heartbeat and its usage are in no event: it is looked at this often, besides. */
const LOOK_MS = 5_000;

export function WorkerView({ id, onMenu }: WorkerViewProps) {
  const ask = useCallback(() => workersApi.get(id).then((one) => [one]), [id]);
  const { list, problem, reload } = useListed<Worker>(ask, useBeat(LOOK_MS));
  const gone = problem instanceof Problem && problem.status === 404;
  const worker = gone ? null : (list?.[0] ?? null);
  const talk = useTalk(id, worker, reload);
  const works = mayWork(useStore(team));
  return (
    <main className="sandbox worker-page" aria-label={t`Worker ${id}`}>
      <header className="sandbox-head">
        <div className="sandbox-title">
          <MenuButton onMenu={onMenu} />
          <a
            className="button-icon"
            href="#/workers"
            aria-label={t`All workers`}
            title={t`All workers`}
            onClick={(event) => {
              event.preventDefault();
              goTo('workers');
            }}
          >
            <Icon name="left" />
          </a>
          <h1>{id}</h1>
          {worker !== null && (
            <Head {...{ worker, works, onDone: reload, onErased: talk.forget }} />
          )}
        </div>
        {worker !== null && <Note worker={worker} />}
      </header>
      {(problem !== null || worker === null) && (
        <div className="worker-blank">
          {problem === null ? (
            <Loading what={t`the worker`} lines={6} />
          ) : (
            <Missing id={id} problem={problem} onRetry={reload} />
          )}
        </div>
      )}
      {worker !== null && <Conversation {...{ worker, talk, works }} />}
    </main>
  );
}

interface HeadProps {
  readonly worker: Worker;
  readonly works: boolean;
  readonly onDone: () => void;
  readonly onErased: (last: number) => void;
}

function Head({ worker, works, onDone, onErased }: HeadProps) {
  return (
    <>
      <WorkerMark status={worker.status} />
      {works && <WorkerActs worker={worker} onDone={onDone} />}
      <WorkerFacts worker={worker} onErased={works ? onErased : null} />
    </>
  );
}

interface MissingProps {
  readonly id: string;
  readonly problem: Error;
  readonly onRetry: () => void;
}

function Missing({ id, problem, onRetry }: MissingProps) {
  if (problem instanceof Problem && problem.status === 404) {
    return (
      <Trouble
        title={t`There is no worker ${id}`}
        act={
          <button type="button" className="button button-small" onClick={() => goTo('workers')}>
            {t`All workers`}
          </button>
        }
      >
        {t`It was never created, or it is somebody else’s.`}
      </Trouble>
    );
  }
  return (
    <Trouble
      title={t`The worker could not be looked at`}
      act={
        <button type="button" className="button button-small" onClick={onRetry}>
          {t`Try again`}
        </button>
      }
    >
      {problem.message}
    </Trouble>
  );
}

/** Why it is in its state, where somebody should know. */
function Note({ worker }: { readonly worker: Worker }) {
  const { status, heartbeat_state: heart } = worker;
  const reason = worker.reason ?? '';
  const left = removalOf(worker)?.left ?? [];
  if (left.length > 0) {
    return (
      <p className="reason reason-failed" role="alert">
        <strong>{t`Not all of it was removed.`}</strong> {visible(left.join(', '))}
      </p>
    );
  }
  if (status === 'failed') {
    return (
      <p className="reason reason-failed" role="alert">
        <strong>{t`It failed.`}</strong> {reason}
      </p>
    );
  }
  if (status === 'running' && heart === 'missing') {
    return (
      <p className="reason" role="alert">
        <strong>{t`Its host is not heard.`}</strong> {reason}
      </p>
    );
  }
  if (isElsewhere(worker)) return <Elsewhere worker={worker} />;
  return status === 'stopped' && reason !== '' ? (
    <p className="quiet">{t`Stopped: ${reason}`}</p>
  ) : null;
}

/** Whether its conversation is in a terminal, or its terminals are somewhere else. */
function isElsewhere(worker: Worker): boolean {
  return worker.held_by_person || (worker.status === 'running' && desktopOf(worker) !== null);
}

/** A terminal on a person's own machine is reached there alone, and not through this server. */
function Elsewhere({ worker }: { readonly worker: Worker }) {
  const name = desktopOf(worker);
  if (!worker.held_by_person) {
    return (
      <p className="quiet">
        {t`It runs on your machine ${name ?? ''}. Take it over there: ${(<code>{`atoll worker take ${worker.worker_id}`}</code>)}`}
      </p>
    );
  }
  return (
    <p className="reason" role="status">
      {name === null
        ? t`A person has the conversation in a terminal: it takes no prompts until it is given back.`
        : t`Its conversation is in a terminal on ${name}: it takes no prompts until it is given back.`}
    </p>
  );
}

interface ConversationProps {
  readonly worker: Worker;
  readonly talk: LiveTalk;
  readonly works: boolean;
}

function Conversation({ worker: newest, talk, works }: ConversationProps) {
  const worker = useStill(newest);
  const { view, connected, shortened, stale, readAll, answer } = useStill(talk);
  const [chosen, setChosen] = useState<string | null>(null);
  const takes = takesRequests(worker);
  const threads = useMemo(() => merged(view.threads, worker), [view.threads, worker]);
  const cards = useMemo(
    () =>
      view.cards
        .filter(({ data }) => chosen === null || ['', chosen].includes(word(data['thread'])))
        .map((card) =>
          card.state === 'pending' && !takes
            ? { ...card, data: { ...card.data, answerable: false } }
            : card,
        ),
    [view.cards, chosen, takes],
  );
  const onAnswer = useCallback<SendAnswer>(
    (card, { option, text }) => answer(card, option, text),
    [answer],
  );
  return (
    <div className="talk">
      <Talk {...{ cards, dropped: view.dropped, connected, onAnswer, works }}>
        {shortened && !stale && (
          <p className="talk-status">
            <button type="button" className="button button-small" onClick={readAll}>
              {t`Show what came before`}
            </button>
          </p>
        )}
        {stale && <p className="talk-status">{t`What came before is no longer kept.`}</p>}
      </Talk>
      {works && takes && <Line {...{ worker, threads, chosen, onChoose: setChosen }} />}
    </div>
  );
}

interface LineProps {
  readonly worker: Worker;
  readonly threads: readonly Thread[];
  readonly chosen: string | null;
  readonly onChoose: (thread: string | null) => void;
}

/** What runs, the conversation that a prompt goes to, and the line for it. */
function Line({ worker, threads, chosen, onChoose }: LineProps) {
  const { worker_id: id, agent } = worker;
  const target = chosen ?? threads.at(-1)?.id ?? worker.thread_id;
  const shown = threads.filter((one) => chosen === null || one.id === chosen);
  const running = shown.find(({ turn }) => turn !== '');
  const locked = threads.some((one) => one.id === target && one.turn !== '');
  return (
    <>
      {(running !== undefined || threads.length > 1) && (
        <div className={running === undefined ? 'agent-bar' : 'agent-bar agent-working'}>
          <span className="agent-mark">
            <Icon name="agent" />
          </span>
          <span className="agent-words" role="status">
            {running !== undefined && t`${agent} works`}
          </span>
          <span className="spring" />
          {threads.length > 1 && <Threads {...{ threads, chosen, onChoose }} />}
          {running !== undefined && (
            <button
              type="button"
              className="button button-slim"
              onClick={() => {
                interruptTurn(id, running.id, running.turn).catch(
                  notifyFailure(t`${agent} was not interrupted`),
                );
              }}
            >
              <Icon name="interrupt" />
              {t`Interrupt`}
            </button>
          )}
        </div>
      )}
      <AskBar
        place={`worker:${id}`}
        agent={agent}
        locked={locked}
        onAsk={(prompt) => askWorker(id, prompt, target)}
      />
    </>
  );
}

function Threads({ threads, chosen, onChoose }: Omit<LineProps, 'worker'>) {
  return (
    <label className="agent-setting">
      <span>{t`Conversation`}</span>
      <select value={chosen ?? ''} onChange={({ target }) => onChoose(target.value || null)}>
        <option value="">{t`all of them`}</option>
        {threads.map((one, at) => (
          <option key={one.id} value={one.id}>
            {one.title === '' ? t`conversation ${at + 1}` : visible(one.title)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The threads that the stream told of, after those that only the snapshot knows. */
function merged(told: readonly Thread[], worker: Worker): readonly Thread[] {
  const known = new Set(told.map(({ id }) => id));
  const listed = threadsOf(worker);
  const titles = new Map(listed.map(({ id, title }) => [id, title]));
  return [
    ...listed.filter(({ id }) => !known.has(id)),
    ...told.map((one) => ({ ...one, title: one.title || (titles.get(one.id) ?? '') })),
  ];
}
