/** The answers to a card that asks: its options as buttons, or a line of one's own. */

import { useState } from 'react';
import type { Card } from '../../api/types';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { visible } from '../../unseen';
import { onTap } from '../parts/tap';
import { release } from './useStill';

/** An option of the card, or words of one's own. */
export interface CardAnswer {
  readonly option?: string;
  readonly text?: string;
}

/** Sends an answer to a card; it fails where the answer was not taken. */
export type SendAnswer = (card: Card, answer: CardAnswer) => Promise<unknown>;

interface AnswerProps {
  readonly card: Card;
  readonly onAnswer: SendAnswer;
  readonly works: boolean;
  /** Null: there is none to go to. */
  readonly onTerminal: (() => void) | null;
}

export function Answer({ card, onAnswer, works, onTerminal }: AnswerProps) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  if (card.state !== 'pending') return null;
  if (!works) return <p className="quiet">{t`Its owner answers this.`}</p>;
  if (card.data['answerable'] !== true) {
    if (onTerminal === null) return <p className="quiet">{t`It cannot be answered from here.`}</p>;
    return (
      <button type="button" className="button button-small talk-elsewhere" onClick={onTerminal}>
        {t`Answer at the terminal`}
      </button>
    );
  }
  const first = card.options.find(({ effect }) => effect === 'allow');

  async function answer(body: CardAnswer): Promise<void> {
    setBusy(true);
    try {
      await onAnswer(card, body);
    } catch (reason) {
      notifyFailure(t`Not answered`)(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <div className="talk-answers">
      {card.options.map((option) => (
        <button
          key={option.id}
          type="button"
          disabled={busy}
          className={option === first ? 'button button-primary' : 'button'}
          {...onTap(() => {
            // A button that is busy by then gets no click.
            release();
            void answer({ option: option.id });
          })}
        >
          {visible(option.label)}
        </button>
      ))}
      {card.kind === 'question' && (
        <form
          className="talk-own"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '') void answer({ text });
          }}
        >
          <input
            aria-label={t`Your answer`}
            placeholder={t`Or in your own words`}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <button type="submit" className="button" disabled={busy || text.trim() === ''}>
            {t`Send`}
          </button>
        </form>
      )}
    </div>
  );
}
