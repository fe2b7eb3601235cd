/** What a worker was created with, what it made, and what becomes of its sandbox. */

import { useState } from 'react';
import { artifactsOf, removalOf, workersApi, type Artifact, type Worker } from '../../api/workers';
import { plural, t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { visible } from '../../unseen';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { profileWords, shortRepo, sizeWords } from '../parts/words';

/** Its agent, and whether that asks before it acts. */
export function agentWords({ agent, permissions }: Worker): string {
  return permissions === 'ask' ? t`${agent}, asks first` : agent;
}

interface CreatedProps {
  readonly worker: Worker;
  /** What its agent said was deleted, up to this number; null where that may not be done. */
  readonly onErased: ((last: number) => void) | null;
}

/** Its agent, and on request all that it was created with. */
export function CreatedMark({ worker, onErased }: CreatedProps) {
  const [asks, setAsks] = useState(false);
  const { worker_id: id } = worker;

  function erase(): void {
    workersApi.erase(id).then(
      ({ removed, resume_after: last }) => {
        onErased?.(last);
        notify(plural(removed, { one: '# event was deleted.', other: '# events were deleted.' }));
      },
      notifyFailure(t`What it said was not deleted`),
    );
  }

  return (
    <>
      <Pop
        summary={
          <>
            <Icon name="agent" />
            {agentWords(worker)}
          </>
        }
      >
        {(close) => (
          <>
            <p>{t`What it was created with`}</p>
            <Created worker={worker} />
            {onErased !== null && (
              <button
                type="button"
                className="button button-small button-destroy"
                onClick={() => {
                  close();
                  setAsks(true);
                }}
              >
                {t`Delete what it said…`}
              </button>
            )}
          </>
        )}
      </Pop>
      {asks && (
        <Confirm
          title={t`Delete what ${id} said?`}
          action={t`Delete it`}
          danger
          onClose={() => setAsks(false)}
          onConfirm={erase}
        >
          <p>
            {t`Its events, the answers to requests and the list of its artifacts are deleted here for good. The agent keeps its conversation, and its sandbox stays as it is.`}
          </p>
        </Confirm>
      )}
    </>
  );
}

function Created({ worker }: { readonly worker: Worker }) {
  const { profile, repos, workspace_ref: inside, thread_id: thread, metadata } = worker;
  const rows: readonly (readonly [string, string])[] = [
    [t`Agent`, agentWords(worker)],
    [t`Profile`, profile === null ? t`the usual one of its agent` : profileWords(profile)],
    ...(inside === null ? [] : [[t`Works in`, inside] as const]),
    ...repos.map((one) => [t`Repository`, repoWords(one)] as const),
    ...(thread === null ? [] : [[t`Conversation`, thread] as const]),
    ...Object.entries(metadata).map(([key, value]) => [visible(key), visible(value)] as const),
    [t`Created`, new Date(worker.created_at).toLocaleString()],
    [t`Events`, worker.latest_seq.toLocaleString()],
  ];
  return (
    <dl className="worker-created">
      {rows.map(([name, value], row) => (
        <div key={row}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function repoWords({ repo_url: url, key, branch }: Worker['repos'][number]): string {
  return [visible(shortRepo(url ?? key ?? '')), branch === null ? '' : visible(branch)]
    .filter((part) => part !== '')
    .join(' · ');
}

/** The files that were reported of it; nothing where there are none. */
export function ArtifactsMark({ worker }: { readonly worker: Worker }) {
  const found = artifactsOf(worker);
  if (found.length === 0) return null;
  return (
    <li>
      <Pop
        summary={
          <>
            <Icon name="file" />
            {plural(found.length, { one: '# artifact', other: '# artifacts' })}
          </>
        }
      >
        {() => (
          <>
            <p>{t`Files that services reported; they are kept where those put them`}</p>
            <ul className="layers" aria-label={t`Artifacts`}>
              {found.map((one) => (
                <Row key={one.name} artifact={one} />
              ))}
            </ul>
          </>
        )}
      </Pop>
    </li>
  );
}

function Row({ artifact: { name, type, size, sha256 } }: { readonly artifact: Artifact }) {
  return (
    <li className="artifact">
      <span className="layer-name">
        <bdi>{visible(name)}</bdi>
      </span>
      <span className="quiet" title={plural(size, { one: '# byte', other: '# bytes' })}>
        {visible(type)} · {sizeWords(size)}
      </span>
      <code className="artifact-sum">
        <span className="spoken">{t`SHA-256:`}</span>
        {sha256}
      </code>
    </li>
  );
}

/** An administrator does not see whether it only moved into its sandbox. */
type Kept = Pick<Worker, 'status' | 'teardown' | 'remove_at' | 'torn_down'> & {
  readonly workspace_ref?: string | null;
};

/** What becomes of its sandbox: while it runs, once it has stopped, and after its teardown. */
export function KeptMark({ worker }: { readonly worker: Kept }) {
  const now = useStore(tick);
  const gone = removalOf(worker);
  if (gone === null) {
    return (
      <span className="fact">
        <Icon name="clock" />
        {keptWords(worker, now)}
      </span>
    );
  }
  const { removed, left } = gone;
  return (
    <Pop
      tone={left.length > 0 ? 'fact-bad' : ''}
      summary={
        <>
          <Icon name="destroy" />
          {left.length > 0
            ? plural(left.length, { one: '# thing left over', other: '# things left over' })
            : removedWords(removed)}
        </>
      }
    >
      {() => (
        <>
          <Things words={t`Removed`} things={removed} />
          <Things words={t`Left over`} things={left} bad />
          {removed.length + left.length === 0 && (
            <p>{t`It was taken down; there was no sandbox to remove.`}</p>
          )}
        </>
      )}
    </Pop>
  );
}

function removedWords(removed: readonly string[]): string {
  return removed.length > 0 ? t`its sandbox was removed` : t`taken down`;
}

interface ThingsProps {
  readonly words: string;
  readonly things: readonly string[];
  readonly bad?: boolean;
}

function Things({ words, things, bad = false }: ThingsProps) {
  if (things.length === 0) return null;
  return (
    <>
      <p className={bad ? 'pop-bad' : undefined}>{words}</p>
      <ul className="pop-notes" aria-label={words}>
        {things.map((one) => (
          <li key={one}>{visible(one)}</li>
        ))}
      </ul>
    </>
  );
}

/** How long its sandbox is kept. */
function keptWords(worker: Kept, now: number): string {
  const { status, teardown, workspace_ref: inside = null } = worker;
  if (inside !== null) return t`its sandbox stays after a stop`;
  const ended = status === 'stopped' || status === 'failed';
  // Servers before this one do not say when.
  const at = (worker.remove_at as string | null | undefined) ?? null;
  if (ended && at !== null) {
    const seconds = secondsUntil(at, now);
    return seconds <= 0 ? t`its sandbox is being removed` : t`removed in ${duration(seconds)}`;
  }
  return teardown.policy === 'immediate'
    ? t`removed at a stop`
    : t`kept for ${teardown.retain_for} after a stop`;
}

/** That its sandbox is gone, and whether anything of it is left. */
export function RemovalBadge({ worker }: { readonly worker: Pick<Worker, 'torn_down'> }) {
  const gone = removalOf(worker);
  if (gone === null) return null;
  return gone.left.length > 0 ? (
    <span className="badge badge-bad">{t`left over`}</span>
  ) : (
    <span className="badge">{t`removed`}</span>
  );
}
