/** A terminal or a machine as cards: what the agent did, what it asks, and a line to ask it. */

import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../../language/t';
import { useRights } from '../../state/team/useRights';
import { NO_CARDS, type CardList } from '../../terminal/cards/cards';
import { followCards } from '../../terminal/cards/follow-cards';
import { AgentBar, machineState } from './AgentBar';
import { AgentSettings } from './AgentSettings';
import { AskBar } from './AskBar';
import { TalkCard } from './TalkCard';

interface CardsViewProps {
  readonly sandboxId: string;
  /** A terminal's or a machine's id. */
  readonly id: string;
  /** Shows the terminal itself; null for a machine, which has none. */
  readonly onTerminal: (() => void) | null;
  /** Types a line at the terminal; null where this person may not, or there is none. */
  readonly onRun?: ((line: string) => void) | null;
}

/** Closer to the end than this, the view follows what comes. */
const NEAR_PX = 80;

export function CardsView({ sandboxId, id, onTerminal, onRun = null }: CardsViewProps) {
  const { works, owns } = useRights(sandboxId);
  const [list, setList] = useState<CardList>(NO_CARDS);
  const [connected, setConnected] = useState<boolean | null>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const follows = useRef(true);

  useEffect(
    () =>
      followCards(sandboxId, id, (next, live) => {
        setList(next);
        setConnected(live);
      }),
    [sandboxId, id],
  );
  useLayoutEffect(() => {
    const element = scroll.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [list]);

  const { cards, dropped, agent } = list;
  return (
    <div className="talk">
      <div
        ref={scroll}
        className="talk-scroll"
        role="log"
        aria-label={t`What the agent did`}
        tabIndex={0}
        onScroll={({ currentTarget: at }) => {
          follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_PX;
        }}
      >
        <div className="talk-list">
          {dropped > 0 && (
            <p className="talk-status">{t`${dropped} older cards are no longer kept.`}</p>
          )}
          {cards.map((card) => (
            <TalkCard
              key={card.id}
              card={card}
              sandboxId={sandboxId}
              terminalId={id}
              works={works}
              onTerminal={onTerminal}
              onRun={onRun}
            />
          ))}
          {connected === true && cards.length === 0 && (
            <p className="talk-status">{t`Nothing to show yet.`}</p>
          )}
          {connected === false && <p className="talk-status">{t`Not connected.`}</p>}
        </div>
      </div>
      {agent?.mode === 'machine' && (
        <AgentBar sandboxId={sandboxId} terminalId={id} agent={machineState(agent)} machine>
          {agent.agent_state !== 'stopped' && <AgentSettings {...{ sandboxId, agent, owns }} />}
        </AgentBar>
      )}
      {works && agent !== null && (
        <AskBar
          sandboxId={sandboxId}
          agentId={id}
          agent={agent.agent}
          locked={agent.agent_state !== 'running' || agent.turn === 'working'}
        />
      )}
    </div>
  );
}
