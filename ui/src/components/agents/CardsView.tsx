/** A terminal or a machine as cards: what the agent did, what it asks, and a line to ask it. */

import { useCallback, useEffect, useState } from 'react';
import { api } from '../../api/client';
import { useRights } from '../../state/team/useRights';
import { NO_CARDS, type CardList } from '../../terminal/cards/cards';
import { followCards } from '../../terminal/cards/follow-cards';
import { AgentBar, machineState } from './AgentBar';
import { AgentSettings } from './AgentSettings';
import type { SendAnswer } from './Answer';
import { AskBar } from './AskBar';
import { Talk } from './Talk';
import { useStill } from './useStill';

interface CardsViewProps {
  readonly sandboxId: string;
  /** A terminal's or a machine's id. */
  readonly id: string;
  /** Shows the terminal itself; null for a machine, which has none. */
  readonly onTerminal: (() => void) | null;
  /** Types a line at the terminal; null where this person may not, or there is none. */
  readonly onRun?: ((line: string) => void) | null;
}

export function CardsView({ sandboxId, id, onTerminal, onRun = null }: CardsViewProps) {
  const { works, owns } = useRights(sandboxId);
  const [list, setList] = useState<CardList>(NO_CARDS);
  const [connected, setConnected] = useState<boolean | null>(null);
  const onAnswer = useCallback<SendAnswer>(
    (card, answer) => api.answer(sandboxId, id, card.id, answer),
    [sandboxId, id],
  );

  useEffect(
    () =>
      followCards(sandboxId, id, (next, live) => {
        setList(next);
        setConnected(live);
      }),
    [sandboxId, id],
  );

  const { cards, dropped, agent } = useStill(list);
  return (
    <div className="talk">
      <Talk {...{ cards, dropped, connected, onAnswer, works, onTerminal, onRun }} />
      {agent?.mode === 'machine' && (
        <AgentBar sandboxId={sandboxId} terminalId={id} agent={machineState(agent)} machine>
          {agent.agent_state !== 'stopped' && <AgentSettings {...{ sandboxId, agent, owns }} />}
        </AgentBar>
      )}
      {works && agent !== null && (
        <AskBar
          place={`${sandboxId}:${id}`}
          agent={agent.agent}
          locked={agent.agent_state !== 'running' || agent.turn === 'working'}
          onAsk={(prompt) => api.ask(sandboxId, id, prompt)}
        />
      )}
    </div>
  );
}
