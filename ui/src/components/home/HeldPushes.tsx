/** Branches that were pushed inside and wait for their owner. */

import { useEffect, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { visible } from '../../unseen';
import {
  dropHeld,
  orderHeld,
  pushesOf,
  quoted,
  type HeldPush,
  type PullOrder,
} from '../../state/home/home';

interface HeldPushesProps {
  readonly sandbox: Sandbox;
  readonly watched: boolean;
  readonly pulls: readonly PullOrder[];
  readonly onOrdered: () => void;
}

export function HeldPushes({ sandbox, watched, pulls, onOrdered }: HeldPushesProps) {
  const { sandbox_id: id, name } = sandbox;
  const [held, setHeld] = useState<readonly HeldPush[]>([]);
  const [busy, setBusy] = useState(false);
  // A pull that ended may have taken one along.
  const done = pulls.filter(({ state }) => state === 'done').length;

  useEffect(() => {
    pushesOf(id).then(setHeld, notifyFailure(t`Held pushes could not be shown`));
  }, [id, done]);

  async function run(act: () => Promise<unknown>): Promise<void> {
    setBusy(true);
    try {
      await act();
      setHeld(await pushesOf(id));
    } catch (reason) {
      notifyFailure(t`Not done`)(reason);
    } finally {
      setBusy(false);
    }
  }

  async function pull(one: HeldPush): Promise<void> {
    await orderHeld(id, one);
    onOrdered();
    if (!watched)
      notify(t`Run “atoll pull ${name} --pushed ${quoted(one.branch)}” in your checkout.`);
  }

  async function drop(one: HeldPush): Promise<void> {
    await dropHeld(one);
    notify(t`${visible(one.branch)} is dropped.`);
  }

  if (held.length === 0) return null;
  return (
    <section>
      <h3 className="form-title">{t`Pushed inside, held for you`}</h3>
      <ul className="lines lines-scroll">
        {held.map((one) => (
          <li key={one.kept_id}>
            <span className="lines-words">
              <code>{visible(one.branch)}</code>
              <span className="quiet">
                {t`${one.commits} new · ${one.commit.slice(0, 12)} · ${visible(one.subject)}`}
              </span>
            </span>
            <button
              type="button"
              className="button button-small"
              disabled={busy}
              aria-label={t`Pull ${visible(one.branch)}`}
              onClick={() => void run(() => pull(one))}
            >
              {t`Pull`}
            </button>
            <button
              type="button"
              className="button button-small"
              disabled={busy}
              aria-label={t`Drop ${visible(one.branch)}`}
              onClick={() => void run(() => drop(one))}
            >
              {t`Drop`}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
