/** Approval requests that wait for a decision, each exactly as it was asked. */

import { useState } from 'react';
import type { Approval, Reach } from '../../api/types';
import { approve, approvals, decide } from '../../state/approvals';
import { age, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';

export function Inbox() {
  const pending = (useStore(approvals) ?? []).filter(({ state }) => state === 'pending');
  if (pending.length === 0) return null;
  return (
    <section className="inbox" aria-label="Pending approvals">
      <h2>
        Pending approvals <span className="count">{pending.length}</span>
      </h2>
      <ul className="asks">
        {pending.map((approval) => (
          <Ask key={approval.approval_id} approval={approval} />
        ))}
      </ul>
    </section>
  );
}

function Ask({ approval }: { readonly approval: Approval }) {
  const now = useStore(tick);
  const [busy, setBusy] = useState(false);
  const { kind, sandbox_name: name, times, asked_at: at } = approval;

  async function answer(act: () => Promise<void>): Promise<void> {
    setBusy(true);
    await act();
    setBusy(false);
  }

  return (
    <li className="asking">
      <p className="asking-head">
        <Icon name={kind === 'secret' ? 'key' : 'terminal'} />
        <strong>{name}</strong>
        {kind === 'secret' ? ' wants to send a secret' : ' wants to run a command'}
        <span className="quiet">
          {times > 1 && `${times} times · `}
          {age(at, now)}
        </span>
      </p>
      <Lines lines={approval.lines} />
      <div className="asking-acts">
        {reachesOf(approval).map(({ reach, words }, i) => (
          <button
            key={reach}
            type="button"
            disabled={busy}
            className={i === 0 ? 'button button-primary' : 'button'}
            onClick={() => void answer(() => approve(approval, reach))}
          >
            {words}
          </button>
        ))}
        <span className="spring" />
        <button
          type="button"
          className="button"
          disabled={busy}
          onClick={() => void answer(() => decide(approval, 'deny'))}
        >
          Deny
        </button>
      </div>
    </li>
  );
}

/** The server's own lines, word for word: a digest of them goes back with an approval. */
export function Lines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <pre className="asking-lines">
      {lines.map((line, i) => (
        <span key={i}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

/** A command is approved for once only. */
function reachesOf({ kind }: Approval): readonly { reach: Reach; words: string }[] {
  if (kind === 'command') return [{ reach: 'once', words: 'Approve once' }];
  return [
    { reach: 'once', words: 'Approve once' },
    { reach: 'sandbox', words: 'For this sandbox' },
    { reach: 'organization', words: 'For the organization' },
  ];
}
