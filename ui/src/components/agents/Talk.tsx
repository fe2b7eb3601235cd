/** Cards of an agent as a conversation: the newest at the end, which the view follows. */

import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { Card } from '../../api/types';
import { t } from '../../language/t';
import type { SendAnswer } from './Answer';
import { TalkCard } from './TalkCard';

interface TalkProps {
  readonly cards: readonly Card[];
  /** Cards before them that are no longer there. */
  readonly dropped: number;
  /** Null until it is known. */
  readonly connected: boolean | null;
  readonly onAnswer: SendAnswer;
  /** Whether this person may answer. */
  readonly works: boolean;
  /** Shows the terminal itself; null where there is none. */
  readonly onTerminal?: (() => void) | null;
  /** Types a line at the terminal; null where this person may not, or there is none. */
  readonly onRun?: ((line: string) => void) | null;
  /** What stands before the first card. */
  readonly children?: ReactNode;
}

/** Closer to the end than this, the view follows what comes. */
const NEAR_PX = 80;

export function Talk(props: TalkProps) {
  const { cards, dropped, connected, onAnswer, works, children } = props;
  const { onTerminal = null, onRun = null } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const follows = useRef(true);

  useLayoutEffect(() => {
    const element = scroll.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  }, [cards]);

  return (
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
        {children}
        {dropped > 0 && (
          <p className="talk-status">{t`${dropped} older cards are no longer kept.`}</p>
        )}
        {cards.map((card) => (
          <TalkCard key={card.id} {...{ card, onAnswer, works, onTerminal, onRun }} />
        ))}
        {connected === true && cards.length === 0 && (
          <p className="talk-status">{t`Nothing to show yet.`}</p>
        )}
        {connected === false && <p className="talk-status">{t`Not connected.`}</p>}
      </div>
    </div>
  );
}
