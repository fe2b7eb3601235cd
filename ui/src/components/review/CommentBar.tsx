/** The collected comments, and the agent that gets them as one prompt. */

import { useState } from 'react';
import type { Agent, Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { agentsOf } from '../../state/attention/agents';
import { useStore } from '../../state/store';
import { useAgents } from '../agents/useAgents';
import {
  collectedOf,
  comments,
  placeOf,
  queueComments,
  removeComments,
  type Comment,
} from './comments';
import { fateOf, sendComments } from './outbox';
import { visible } from '../../unseen';

/** The comments of a sandbox and who gets them. */
export interface Outbox {
  readonly list: readonly Comment[];
  readonly agents: readonly Agent[];
  readonly agent: Agent | null;
  /** Whether the agent's turn is under way. */
  readonly busy: boolean;
  readonly queued: boolean;
  readonly sending: boolean;
  readonly choose: (id: string) => void;
  /** Sends the comments; at the end of the turn where one is under way, unless `now`. */
  readonly send: (now: boolean) => void;
}

export function useOutbox(sandbox: Sandbox): Outbox {
  const id = sandbox.sandbox_id;
  const agents = useAgents(id);
  const { list, queuedFor } = collectedOf(useStore(comments), id);
  const [chosen, setChosen] = useState<string | null>(null);
  const [sending, setSending] = useState(false);
  const agent = agents.find((one) => one.id === (chosen ?? queuedFor)) ?? agents[0] ?? null;
  const known = agentsOf(sandbox).find((one) => one.id === agent?.id);
  const busy = known !== undefined && fateOf(known) === 'wait';
  const send = (now: boolean): void => {
    if (agent === null || list.length === 0 || sending) return;
    if (busy && !now) {
      queueComments(id, agent.id);
      return;
    }
    setSending(true);
    void sendComments(id, agent).finally(() => setSending(false));
  };
  return {
    list,
    agents,
    agent,
    busy,
    queued: queuedFor !== null,
    sending,
    choose: setChosen,
    send,
  };
}

interface CommentBarProps {
  readonly sandboxId: string;
  readonly outbox: Outbox;
  /** Whether its person may ask an agent. */
  readonly works: boolean;
  readonly onOpen: (path: string) => void;
}

export function CommentBar({ sandboxId, outbox, works, onOpen }: CommentBarProps) {
  const { list, agent, queued } = outbox;
  if (!works || list.length === 0) return null;
  const many = plural(list.length, { one: '# comment', other: '# comments' });
  return (
    <div className="review-bar" role="region" aria-label={t`Comments to send`}>
      <details className="review-collected">
        <summary>{many}</summary>
        <ul>
          {list.map((one) => (
            <li key={one.id}>
              <button
                type="button"
                className="review-place"
                disabled={one.path === ''}
                onClick={() => onOpen(one.path)}
              >
                {visible(placeOf(one))}
              </button>{' '}
              {one.words}{' '}
              <button
                type="button"
                className="button button-small"
                onClick={() => removeComments(sandboxId, [one])}
              >
                {t`Remove`}
              </button>
            </li>
          ))}
        </ul>
      </details>
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
          onClick={() => queueComments(sandboxId, null)}
        >
          {t`Wait`}
        </button>
      )}
      <button
        type="button"
        className="button button-small"
        onClick={() => removeComments(sandboxId, list)}
      >
        {t`Drop all`}
      </button>
    </div>
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
