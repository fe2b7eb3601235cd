/** The three ways to go on from a conflict: the agent resolves it, a person does, nobody does. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import type { Sandbox, Schemas } from '../../api/types';
import { t, worded } from '../../language/t';
import { openTerminal } from '../../state/acts';
import { notify, notifyFailure } from '../../state/announce';
import { syncWith, type Sync } from '../../state/home/home';
import { resolverOf } from '../../state/work/acts';

type Kind = Schemas['ConflictKind'];

interface ConflictActsProps {
  readonly sandbox: Sandbox;
  readonly repo: number;
  readonly kind: Kind;
  /** Called once the agent has it or it is given up, with what came of it, or a terminal is open. */
  readonly onDone?: (came: Sync | null) => void;
}

const ABORTS = worded<Readonly<Record<Kind, string>>>(() => ({
  rebase: t`Give the rebase up`,
  merge: t`Give the merge up`,
  cherry_pick: t`Give the cherry-pick up`,
  revert: t`Give the revert up`,
}));

/** Who resolves it: the server chose the agent, and asked none where no conflict is left. */
function resolverWords(name: string, { agent }: Sync): string {
  return agent === null
    ? t`No agent was asked: ${name} has no conflict any more.`
    : t`${agent} resolves it.`;
}

/** An act that waits for a person's word, because an agent works. */
interface Held {
  readonly why: string;
  readonly act: 'look' | 'abort';
}

export function ConflictActs({ sandbox, repo, kind, onDone }: ConflictActsProps) {
  const { sandbox_id: id, name } = sandbox;
  const [busy, setBusy] = useState(false);
  const [held, setHeld] = useState<Held | null>(null);
  const agent = resolverOf(sandbox);

  async function run(act: Held['act'], now = false): Promise<void> {
    setBusy(true);
    setHeld(null);
    try {
      const came = await syncWith(id, { repo, act, agent: act === 'look', now });
      notify(act === 'look' ? resolverWords(name, came) : t`${name} is as it was before.`);
      onDone?.(came);
    } catch (reason) {
      if (reason instanceof Problem && reason.code === 'agent_works') {
        setHeld({ why: reason.message, act });
      } else notifyFailure(t`Not done`)(reason);
    } finally {
      setBusy(false);
    }
  }

  async function open(): Promise<void> {
    if ((await openTerminal(id, undefined, sandbox.repos[repo]?.path)) !== null) onDone?.(null);
  }

  return (
    <>
      {agent !== null && (
        <button
          type="button"
          className="button button-small button-primary"
          disabled={busy}
          onClick={() => void run('look')}
        >
          {t`Let ${agent} resolve it`}
        </button>
      )}
      <button
        type="button"
        className="button button-small"
        disabled={busy}
        onClick={() => void open()}
      >
        {t`In a terminal`}
      </button>
      <button
        type="button"
        className="button button-small"
        disabled={busy}
        onClick={() => void run('abort')}
      >
        {ABORTS()[kind]}
      </button>
      {held !== null && (
        <span className="conflict-held" role="alert">
          {held.why}
          <button
            type="button"
            className="button button-small"
            disabled={busy}
            onClick={() => void run(held.act, true)}
          >
            {t`Do it all the same`}
          </button>
        </span>
      )}
    </>
  );
}
