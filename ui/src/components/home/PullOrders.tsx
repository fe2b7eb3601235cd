/** The pulls that were asked for here, and how each ended. */

import { useCallback, useEffect, useState } from 'react';
import type { Schemas } from '../../api/types';
import { plural, t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { visible } from '../../unseen';
import { cancelPull, pullsOf, type PullOrder } from '../../state/home/home';

const LOOK_MS = 2_000;

type Pulls = Schemas['PullList'];

/** The orders of a sandbox while the view is open, and a way to look again at once. */
export function usePulls(id: string): readonly [Pulls | null, () => void] {
  const [pulls, setPulls] = useState<Pulls | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let open = true;
    const look = (): void => {
      pullsOf(id).then(
        (found) => {
          if (open) setPulls(found);
        },
        () => undefined,
      );
    };
    look();
    const timer = window.setInterval(look, LOOK_MS);
    return () => {
      open = false;
      window.clearInterval(timer);
    };
  }, [id, turn]);
  const reload = useCallback(() => setTurn((now) => now + 1), []);
  return [pulls, reload];
}

interface PullOrdersProps {
  readonly list: readonly PullOrder[];
  readonly onChange: () => void;
}

export function PullOrders({ list, onChange }: PullOrdersProps) {
  if (list.length === 0) return null;
  return (
    <ul className="lines lines-scroll" aria-label={t`Pulls`} aria-live="polite">
      {list.slice(0, 8).map((order) => (
        <li key={order.order_id}>
          <span className="lines-words">
            <code>{branchOf(order.written ?? order.into ?? order.branch)}</code>
            <span className="quiet">{wordsOf(order)}</span>
          </span>
          {order.state === 'waiting' && <CancelButton order={order} onDone={onChange} />}
        </li>
      ))}
    </ul>
  );
}

function CancelButton({ order, onDone }: { readonly order: PullOrder; onDone: () => void }) {
  const [busy, setBusy] = useState(false);
  function cancel(): void {
    setBusy(true);
    cancelPull(order)
      .then(onDone, notifyFailure(t`Not cancelled`))
      .finally(() => setBusy(false));
  }
  return (
    <button
      type="button"
      className="button button-small"
      disabled={busy}
      aria-label={t`Cancel the pull of ${branchOf(order.branch)}`}
      onClick={cancel}
    >
      {t`Cancel`}
    </button>
  );
}

/** A branch as it is shown; without one, the sandbox's own. */
function branchOf(name: string | null | undefined): string {
  return name == null ? t`its own branch` : visible(name);
}

function wordsOf({ state, commit, commits, said }: PullOrder): string {
  const more = said === '' ? '' : ` · ${visible(said)}`;
  switch (state) {
    case 'waiting':
      return t`waits for “atoll pull --watch” in your checkout`;
    case 'taken':
      return t`is being pulled`;
    case 'done':
      return (
        plural(
          commits,
          {
            one: 'is at {commit} in your checkout: # new commit',
            other: 'is at {commit} in your checkout: # new commits',
          },
          { commit: commit?.slice(0, 12) ?? '?' },
        ) + more
      );
    case 'failed':
      return `failed${more}`;
    case 'cancelled':
      return t`was cancelled`;
  }
}
