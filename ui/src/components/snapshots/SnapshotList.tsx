/** The snapshots of a sandbox: taken, brought back, begun from and removed. */

import { useCallback, useState } from 'react';
import { api } from '../../api/client';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { age, tick } from '../../state/clock';
import { go } from '../../state/route';
import { keep } from '../../state/sandboxes';
import {
  removeSnapshot,
  restoreSnapshot,
  snapshotsOf,
  takeSnapshot,
  type Snapshot,
} from '../../state/snapshots';
import { useStore } from '../../state/store';
import { Confirm } from '../parts/Dialog';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';
import { sizeWords } from '../parts/words';

interface SnapshotListProps {
  readonly sandbox: Sandbox;
  readonly close: () => void;
}

export function SnapshotList({ sandbox, close }: SnapshotListProps) {
  const { sandbox_id: id, name } = sandbox;
  const ask = useCallback(() => snapshotsOf(id), [id]);
  const asked = useListed(ask);
  const [busy, setBusy] = useState(false);
  const [back, setBack] = useState<Snapshot | null>(null);

  async function run(act: () => Promise<unknown>, failed: string): Promise<void> {
    setBusy(true);
    try {
      await act();
      asked.reload();
    } catch (reason) {
      notifyFailure(failed)(reason);
    } finally {
      setBusy(false);
    }
  }

  async function begin(snapshot: Snapshot): Promise<void> {
    const seed = { snapshot: snapshot.snapshot_id, conversation: 'continue' as const };
    const made = await api.create({ seed }, crypto.randomUUID());
    keep(made);
    close();
    go(made.sandbox_id);
  }

  return (
    <div className="form" aria-busy={busy}>
      <p className="field-hint">
        {t`Its files and its agents' conversations as they are at that moment. It need not stop.`}
      </p>
      <Listed
        asked={asked}
        what={t`snapshots`}
        empty={<Empty icon="archive">{t`No snapshots yet.`}</Empty>}
      >
        {(list) => (
          <ul className="lines lines-scroll" aria-label={t`Snapshots of ${name}`}>
            {list.map((snapshot) => (
              <Row
                key={snapshot.snapshot_id}
                {...{ snapshot, busy }}
                onRestore={() => setBack(snapshot)}
                onBegin={() => void run(() => begin(snapshot), t`No sandbox was made`)}
                onRemove={() =>
                  void run(() => removeSnapshot(snapshot.snapshot_id), t`Not removed`)
                }
              />
            ))}
          </ul>
        )}
      </Listed>
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={close}>
          {t`Close`}
        </button>
        <button
          type="button"
          className="button button-primary"
          disabled={busy}
          onClick={() => void run(() => takeSnapshot(id, null), t`No snapshot was taken`)}
        >
          {busy ? t`Keeping…` : t`Take a snapshot`}
        </button>
      </footer>
      {back !== null && (
        <Confirm
          title={t`Bring ${name} back?`}
          action={t`Restore`}
          danger={false}
          onClose={() => setBack(null)}
          onConfirm={() => {
            void run(() => restoreSnapshot(id, back.snapshot_id), t`Not restored`);
            notify(t`${name} comes back as ${back.name} was.`);
            close();
          }}
        >
          <p>
            {t`Its programs end, and its files are as ${back.name} was. Work that nobody pulled is saved first.`}
          </p>
        </Confirm>
      )}
    </div>
  );
}

interface RowProps {
  readonly snapshot: Snapshot;
  readonly busy: boolean;
  readonly onRestore: () => void;
  readonly onBegin: () => void;
  readonly onRemove: () => void;
}

function Row({ snapshot, busy, onRestore, onBegin, onRemove }: RowProps) {
  const now = useStore(tick);
  const { name, size, created_at: at, agent, turn } = snapshot;
  const after = turn === null ? null : t`after turn ${turn.number} of ${turn.agent}`;
  const acts = [
    { words: t`Restore`, label: t`Restore ${name}`, run: onRestore },
    { words: t`New sandbox`, label: t`New sandbox from ${name}`, run: onBegin },
    { words: t`Remove`, label: t`Remove ${name}`, run: onRemove },
  ];
  return (
    <li>
      <span className="lines-words">
        {name}
        <span className="quiet">
          {[age(at, now), sizeWords(size), after ?? agent].filter(Boolean).join(' · ')}
        </span>
      </span>
      <span className="lines-acts">
        {acts.map(({ words, label, run }) => (
          <button
            key={label}
            type="button"
            className="button button-small"
            aria-label={label}
            disabled={busy}
            onClick={run}
          >
            {words}
          </button>
        ))}
      </span>
    </li>
  );
}
