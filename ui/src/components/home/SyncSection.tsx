/** Newer commits into a sandbox: the rebase, and what to do about a conflict. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import type { Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { syncWith, type Sync } from '../../state/home/home';
import { visible } from '../../unseen';
import { ConflictActs } from '../work/ConflictActs';

interface SyncSectionProps {
  readonly sandbox: Sandbox;
  readonly repo: number;
  /** Called when a terminal was opened at a conflict. */
  readonly onTerminal: () => void;
}

export function SyncSection({ sandbox, repo, onTerminal }: SyncSectionProps) {
  const { sandbox_id: id } = sandbox;
  const [sync, setSync] = useState<Sync | null>(null);
  const [busy, setBusy] = useState(false);
  /** Why the sync waits for the turn of an agent, or for the person's word. */
  const [held, setHeld] = useState<string | null>(null);
  const uploaded = sandbox.repos[repo]?.key != null;

  useEffect(() => {
    let open = true;
    syncWith(id, { repo, act: 'look', agent: false, now: false }).then(
      (found) => {
        if (open) setSync(found);
      },
      () => undefined,
    );
    return () => {
      open = false;
    };
  }, [id, repo]);

  async function rebase(now = false): Promise<void> {
    setBusy(true);
    setHeld(null);
    try {
      setSync(await syncWith(id, { repo, act: 'rebase', agent: false, now }));
    } catch (reason) {
      if (reason instanceof Problem && reason.code === 'agent_works') {
        setHeld(reason.message);
      } else notifyFailure(t`Not synced`)(reason);
    } finally {
      setBusy(false);
    }
  }

  const stuck = sync?.outcome === 'conflict';
  return (
    <section aria-busy={busy}>
      <h3 className="form-title">{t`Newer commits`}</h3>
      <p className="field-hint" role="status">
        {sync === null || sync.outcome === 'clean' ? hint(uploaded, sandbox.name) : wordsOf(sync)}
      </p>
      {stuck && <Conflict sync={sync} />}
      {held !== null && (
        <div role="alert">
          <p className="field-hint">{held}</p>
          <button
            type="button"
            className="button button-small"
            disabled={busy}
            onClick={() => void rebase(true)}
          >
            {t`Sync all the same`}
          </button>
        </div>
      )}
      <div className="home-acts">
        {stuck ? (
          <ConflictActs
            {...{ sandbox, repo }}
            kind="rebase"
            onDone={(came) => (came === null ? onTerminal() : setSync(came))}
          />
        ) : (
          <button type="button" className="button" disabled={busy} onClick={() => void rebase()}>
            {busy ? t`Rebasing…` : t`Sync`}
          </button>
        )}
      </div>
    </section>
  );
}

function Conflict({ sync }: { readonly sync: Sync }) {
  return (
    <ul className="lines lines-scroll" aria-label={t`Files in conflict`}>
      {sync.files.map((path) => (
        <li key={path}>
          <code>{visible(path)}</code>
        </li>
      ))}
      {sync.more > 0 && <li>{t`and ${sync.more} more`}</li>}
    </ul>
  );
}

function hint(uploaded: boolean, name: string): string {
  return uploaded
    ? t`Rebases its branch onto what your checkout sent last. “atoll sync ${name}” there sends newer commits first.`
    : t`Fetches the remote, and rebases its branch onto the newer commits.`;
}

function wordsOf({ outcome, commits, onto: branch, commit, stashed, agent }: Sync): string {
  const onto = visible(branch);
  const more = stashed ? ` ${t`What was not committed did not fit: it is in a stash inside.`}` : '';
  switch (outcome) {
    case 'updated':
      return (
        plural(
          commits,
          {
            one: 'It stands on # newer commit of {onto}.',
            other: 'It stands on # newer commits of {onto}.',
          },
          { onto },
        ) + more
      );
    case 'current':
      return t`It has all of ${onto} already.`;
    case 'conflict':
      return agent === null
        ? t`A rebase stopped at a conflict in these files:`
        : t`Its agent was asked to resolve the conflict in these files:`;
    case 'aborted':
      return t`The rebase is given up: it is back at ${commit.slice(0, 12)}.`;
    case 'clean':
      return '';
  }
}
