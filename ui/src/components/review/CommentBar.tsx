/** The collected comments, and the agent that gets them as one prompt. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { Agent } from '../../api/types';
import { announce, notifyFailure } from '../../state/announce';
import { agentsMoved } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { clearComments, promptOf, type Comment } from './comments';

interface CommentBarProps {
  readonly sandboxId: string;
  readonly comments: readonly Comment[];
}

export function CommentBar({ sandboxId, comments }: CommentBarProps) {
  const agents = useAgents(sandboxId);
  const [chosen, setChosen] = useState<string | null>(null);
  const [sending, setSending] = useState(false);
  const agent = agents.find(({ id }) => id === chosen) ?? agents[0];

  async function send(to: Agent): Promise<void> {
    setSending(true);
    try {
      await api.ask(sandboxId, to.id, promptOf(comments));
      clearComments(sandboxId);
      announce(`The comments were sent to ${to.agent}.`);
    } catch (reason) {
      notifyFailure('The comments were not sent')(reason);
    } finally {
      setSending(false);
    }
  }

  const many = comments.length === 1 ? '1 comment' : `${comments.length} comments`;
  return (
    <div className="review-bar" role="region" aria-label="Comments to send">
      <span>{many}</span>
      {agents.length > 1 && (
        <select
          aria-label="Agent"
          value={agent?.id}
          onChange={(event) => setChosen(event.target.value)}
        >
          {agents.map(({ id, agent: name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      {agent === undefined ? (
        <span className="quiet">No agent runs here that could take them.</span>
      ) : (
        <button
          type="button"
          className="button button-small button-primary"
          disabled={sending}
          onClick={() => void send(agent)}
        >
          Send to {agent.agent}
        </button>
      )}
      <button
        type="button"
        className="button button-small"
        onClick={() => clearComments(sandboxId)}
      >
        Drop all
      </button>
    </div>
  );
}

/** The agents of a sandbox that have not ended. */
function useAgents(sandboxId: string): readonly Agent[] {
  const [agents, setAgents] = useState<readonly Agent[]>([]);
  const moved = useStore(agentsMoved)[sandboxId] ?? 0;
  useEffect(() => {
    api.agents(sandboxId).then(
      (list) => setAgents(list.filter(({ agent_state: state }) => state !== 'stopped')),
      () => setAgents([]),
    );
  }, [sandboxId, moved]);
  return agents;
}
