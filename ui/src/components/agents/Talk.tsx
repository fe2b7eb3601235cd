/** Cards of an agent as a conversation: the newest at the end, which the view follows. */

import { useLayoutEffect, useRef, type ReactNode, type UIEvent } from 'react';
import type { Card } from '../../api/types';
import { t } from '../../language/t';
import type { SendAnswer } from './Answer';
import { useStore } from '../../state/store';
import { shownCards } from '../../terminal/cards/cards';
import { TalkCard } from './TalkCard';
import { pressed } from './useStill';

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

/** Keeps the end in view until somebody scrolls up. A card's height is known only once it is drawn,
 *  so the end is looked for at every change of a size, too, but not under a finger. */
function useFollowing(cards: readonly Card[]) {
  const scroll = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const last = useRef(0);
  const still = useStore(pressed);

  useLayoutEffect(() => {
    const element = scroll.current;
    if (element === null || still) return;
    const follow = (): void => {
      if (follows.current) element.scrollTop = element.scrollHeight;
    };
    follow();
    const sizes = new ResizeObserver(follow);
    sizes.observe(element);
    for (const inside of element.children) sizes.observe(inside);
    return () => sizes.disconnect();
  }, [cards, still]);

  const onScroll = ({ currentTarget: at }: UIEvent<HTMLElement>): void => {
    const isNear = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_PX;
    if (isNear || at.scrollTop < last.current) follows.current = isNear;
    last.current = at.scrollTop;
  };
  return { scroll, onScroll };
}

export function Talk(props: TalkProps) {
  const { cards, dropped, connected, onAnswer, works, children } = props;
  const { onTerminal = null, onRun = null } = props;
  const { scroll, onScroll } = useFollowing(cards);
  return (
    <div
      ref={scroll}
      className="talk-scroll"
      role="log"
      aria-label={t`What the agent did`}
      tabIndex={0}
      onScroll={onScroll}
    >
      <div className="talk-list">
        {children}
        {dropped > 0 && (
          <p className="talk-status">{t`${dropped} older cards are no longer kept.`}</p>
        )}
        {shownCards(cards).map((card) => (
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
