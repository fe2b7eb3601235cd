/** The open threads of a sandbox, and the agent that gets those that no agent has yet. */

import { useMemo, useState } from 'react';
import type { Agent, Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { agentsOf } from '../../state/attention/agents';
import { useStore } from '../../state/store';
import { visible, visibleLines } from '../../unseen';
import { useAgents } from '../agents/useAgents';
import { AuthorName, SentMark, type ThreadActs } from './diff/ThreadRow';
import { fateOf, sendThreads } from './outbox';
import { queued as queuedAgents, queueThreads } from './queue';
import { placeOf, type ReviewThread } from './threads';

/** The open threads of a sandbox and who gets them. */
export interface Outbox {
  readonly open: readonly ReviewThread[];
  /** Those of them that say something no agent has received. */
  readonly unsent: readonly ReviewThread[];
  readonly agents: readonly Agent[];
  readonly agent: Agent | null;
  /** Whether the agent's turn is under way. */
  readonly busy: boolean;
  readonly queued: boolean;
  readonly sending: boolean;
  readonly choose: (id: string) => void;
  /** Sends what is unsent; at the end of the turn where one is under way, unless `now`. */
  readonly send: (now: boolean) => void;
}

export function useOutbox(sandbox: Sandbox, threads: readonly ReviewThread[]): Outbox {
  const id = sandbox.sandbox_id;
  const agents = useAgents(id);
  const open = useMemo(() => threads.filter(({ resolved }) => resolved === null), [threads]);
  const unsent = useMemo(() => open.filter((one) => one.unsent), [open]);
  const queuedFor = useStore(queuedAgents)[id] ?? null;
  const [chosen, setChosen] = useState<string | null>(null);
  const [sending, setSending] = useState(false);
  const agent = agents.find((one) => one.id === (chosen ?? queuedFor)) ?? agents[0] ?? null;
  const known = agentsOf(sandbox).find((one) => one.id === agent?.id);
  const busy = known !== undefined && fateOf(known) === 'wait';
  const send = (now: boolean): void => {
    if (agent === null || unsent.length === 0 || sending) return;
    if (busy && !now) {
      queueThreads(id, agent.id);
      return;
    }
    setSending(true);
    void sendThreads(id, agent, unsent).finally(() => setSending(false));
  };
  return {
    ...{ open, unsent, agents, agent, busy, sending, send },
    queued: queuedFor !== null,
    choose: setChosen,
  };
}

interface CommentBarProps {
  readonly sandboxId: string;
  readonly outbox: Outbox;
  /** What this person does with threads; null for whoever only reads. */
  readonly acts: ThreadActs | null;
  /** The way to a thread's file; null where it is none of those that are shown. */
  readonly openerOf: (thread: ReviewThread) => (() => void) | null;
}

export function CommentBar({ sandboxId, outbox, acts, openerOf }: CommentBarProps) {
  const { open, unsent } = outbox;
  if (open.length === 0) return null;
  const rest = unsent.length > 0 && unsent.length < open.length;
  return (
    <div className="review-bar" role="region" aria-label={t`Open comments`}>
      <details className="review-collected">
        <summary>
          {plural(open.length, { one: '# comment', other: '# comments' })}
          {rest && (
            <span className="quiet">
              {' '}
              {plural(unsent.length, { one: '# not sent', other: '# not sent' })}
            </span>
          )}
        </summary>
        <ul>
          {open.map((one) => (
            <OpenThread key={one.thread_id} thread={one} onOpen={openerOf(one)} acts={acts} />
          ))}
        </ul>
      </details>
      {acts !== null && unsent.length > 0 && <ToAgent {...{ sandboxId, outbox }} />}
    </div>
  );
}

interface OpenThreadProps {
  readonly thread: ReviewThread;
  readonly onOpen: (() => void) | null;
  readonly acts: ThreadActs | null;
}

/** A thread with what was said last in it. */
function OpenThread({ thread, onOpen, acts }: OpenThreadProps) {
  const last = thread.remarks.at(-1);
  return (
    <li>
      <div className="review-collected-head">
        <button
          type="button"
          className="review-place"
          disabled={onOpen === null}
          onClick={() => onOpen?.()}
        >
          {visible(placeOf(thread))}
        </button>
        {onOpen === null && thread.path !== '' && (
          <span className="quiet">{t`not among these changes`}</span>
        )}
        <SentMark thread={thread} />
        {acts !== null && last !== undefined && (
          <span className="review-collected-acts">
            {acts.mayWithdraw(last) && (
              <button
                type="button"
                className="button button-small"
                onClick={() => acts.withdraw(thread, last)}
              >{t`Remove`}</button>
            )}
            <button
              type="button"
              className="button button-small"
              onClick={() => acts.resolve(thread, true)}
            >{t`Resolve`}</button>
          </span>
        )}
      </div>
      {last !== undefined && (
        <p>
          <AuthorName remark={last} /> {visibleLines(last.text)}
        </p>
      )}
    </li>
  );
}

interface ToAgentProps {
  readonly sandboxId: string;
  readonly outbox: Outbox;
}

function ToAgent({ sandboxId, outbox }: ToAgentProps) {
  const { agent, queued } = outbox;
  return (
    <>
      <Receivers outbox={outbox} />
      {agent === null ? (
        <span className="quiet">{t`No agent runs here that could take them. They are kept.`}</span>
      ) : (
        <Sending outbox={outbox} name={agent.agent} />
      )}
      {queued && (
        <button
          type="button"
          className="button button-small"
          onClick={() => queueThreads(sandboxId, null)}
        >
          {t`Wait`}
        </button>
      )}
    </>
  );
}

function Receivers({ outbox: { agents, agent, choose } }: { readonly outbox: Outbox }) {
  if (agents.length < 2) return null;
  return (
    <select
      aria-label={t`Agent`}
      value={agent?.id}
      onChange={(event) => choose(event.target.value)}
    >
      {agents.map(({ id, agent: name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Sending({ outbox, name }: { readonly outbox: Outbox; readonly name: string }) {
  const { busy, queued, sending, send } = outbox;
  return (
    <>
      {queued && (
        <span role="status">{t`${name} gets them when its turn ends; this page sends them.`}</span>
      )}
      {busy && !queued && (
        <button
          type="button"
          className="button button-small button-primary"
          title="Ctrl+Enter"
          onClick={() => send(false)}
        >
          {t`Send when ${name} is done`}
        </button>
      )}
      <button
        type="button"
        className={busy ? 'button button-small' : 'button button-small button-primary'}
        title={busy ? 'Ctrl+Shift+Enter' : 'Ctrl+Enter'}
        disabled={sending}
        onClick={() => send(true)}
      >
        {busy ? t`Send now` : t`Send to ${name}`}
      </button>
    </>
  );
}
