/** One card of an agent's work; a kind this page does not know is shown as its text. */

import { memo } from 'react';
import type { Card } from '../../api/types';
import { t } from '../../language/t';
import { Answer, type SendAnswer } from './Answer';
import { CommandBlock } from './CommandBlock';
import { Icon, type IconName } from '../parts/icons';
import { RichText } from '../parts/RichText';
import { visible, visibleLines } from '../../unseen';

interface TalkCardProps {
  readonly card: Card;
  /** The same function at each call: cards are drawn again only when they change. */
  readonly onAnswer: SendAnswer;
  /** Whether this person may answer. */
  readonly works: boolean;
  /** Shows the terminal itself; null where there is none. */
  readonly onTerminal: (() => void) | null;
  /** Types a line at the terminal; null where this person may not, or there is none. */
  readonly onRun: ((line: string) => void) | null;
}

const ICONS: Readonly<Record<string, IconName>> = {
  bash: 'terminal',
  diff: 'branch',
  file: 'file',
  plan: 'log',
  'tool-call': 'command',
  approval: 'question',
  question: 'question',
  'preview-link': 'network',
};

/** Longer output is folded. */
const FOLD_LINES = 12;

const STATES: Readonly<Record<Card['state'], string>> = {
  pending: 'waits',
  running: 'running',
  done: 'done',
  failed: 'failed',
  declined: 'declined',
};

export const TalkCard = memo(function TalkCard(props: TalkCardProps) {
  const { card, onAnswer, works, onTerminal, onRun } = props;
  if (card.data['coloured'] === true) return <CommandBlock card={card} onRun={onRun} />;
  switch (card.kind) {
    case 'turn':
      return <TurnLine card={card} />;
    case 'status':
      if (typeof card.data['wake'] === 'string') return <Woken card={card} />;
      return <p className="talk-status">{card.text || card.title}</p>;
    case 'text':
      return <Said card={card} />;
    case 'thinking':
      return (
        <details className="talk-thought">
          <summary>{t`Thinking`}</summary>
          <RichText text={card.text || card.title} />
        </details>
      );
    case 'approval':
    case 'question':
      return (
        <section className={`talk-card talk-asks talk-${card.state}`}>
          <Head card={card} />
          {card.text !== '' && <Asked card={card} />}
          <Answer {...{ card, onAnswer, works, onTerminal }} />
        </section>
      );
    default:
      return (
        <section className={`talk-card talk-${card.state}`}>
          <Head card={card} />
          <Body card={card} />
        </section>
      );
  }
});

/** What is asked for. What an approval would run or write is shown letter by letter. */
function Asked({ card }: { readonly card: Card }) {
  if (card.kind === 'question' || card.data['tool'] === 'ExitPlanMode') {
    return <RichText text={card.text} />;
  }
  return <pre className="talk-out">{visibleLines(card.text)}</pre>;
}

/** Why Atoll asked an agent by itself: what it watches changed. */
function Woken({ card }: { readonly card: Card }) {
  return (
    <section className="talk-card talk-done">
      <header className="talk-head">
        <Icon name="bell" />
        <span className="talk-title">{visible(card.title)}</span>
      </header>
      <pre className="talk-out">{visibleLines(card.text)}</pre>
    </section>
  );
}

function TurnLine({ card }: { readonly card: Card }) {
  const { milliseconds } = card.data;
  const seconds = typeof milliseconds === 'number' ? Math.round(milliseconds / 1000) : null;
  return (
    <p className="talk-turn">
      <span>
        {card.state === 'running' ? t`Working…` : t`Turn ${STATES[card.state]}`}
        {seconds !== null && ` · ${t`${seconds} s`}`}
      </span>
    </p>
  );
}

function Said({ card }: { readonly card: Card }) {
  const person = card.data['role'] === 'person';
  return (
    <div className={person ? 'talk-said talk-person' : 'talk-said'}>
      <span className="spoken">{person ? t`Asked:` : t`Agent:`}</span>
      <RichText text={card.text || card.title} />
      <Cut card={card} />
    </div>
  );
}

function Head({ card }: { readonly card: Card }) {
  const exit = card.data['exit_code'];
  const path = card.data['path'];
  const words = card.title || (typeof path === 'string' ? path : card.kind);
  return (
    <header className="talk-head">
      <Icon name={ICONS[card.kind] ?? 'text'} />
      <span className={card.kind === 'bash' ? 'talk-title talk-code' : 'talk-title'}>
        {visible(words)}
      </span>
      <span className={`talk-state talk-state-${card.state}`}>
        {typeof exit === 'number' && exit !== 0 ? t`exit ${exit}` : STATES[card.state]}
      </span>
    </header>
  );
}

function Body({ card }: { readonly card: Card }) {
  const { kind, text, data } = card;
  const { port, path, input } = data;
  if (kind === 'preview-link') {
    return (
      <p className="quiet">
        {t`Port ${typeof port === 'number' ? port : '?'}${typeof path === 'string' && path !== '/' && `, ${path}`}: ${(<strong>{t`Ports`}</strong>)} above opens it.`}
      </p>
    );
  }
  if (kind === 'plan') return <Plan text={text} />;
  const note = typeof data['error'] === 'string' ? data['error'] : '';
  return (
    <>
      {kind === 'tool-call' && typeof input === 'string' && input !== '' && (
        <Output text={input} kind="input" />
      )}
      {text !== '' && <Output text={text} kind={kind} />}
      {note !== '' && <p className="talk-note">{note}</p>}
      <Cut card={card} />
    </>
  );
}

function Cut({ card }: { readonly card: Card }) {
  return card.cut ? <p className="quiet">{t`It was longer; the rest is not kept.`}</p> : null;
}

function Output({ text, kind }: { readonly text: string; readonly kind: string }) {
  const lines = text.replace(/\n$/, '').split('\n');
  const shown = <pre className="talk-out">{kind === 'diff' ? lines.map(diffLine) : text}</pre>;
  if (lines.length <= FOLD_LINES) return shown;
  return (
    <details className="talk-fold">
      <summary>{t`${lines.length} lines`}</summary>
      {shown}
    </details>
  );
}

function diffLine(line: string, i: number) {
  const sign = line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : 'same';
  return (
    <span key={i} className={`diff-${sign}`}>
      {line}
      {'\n'}
    </span>
  );
}

function Plan({ text }: { readonly text: string }) {
  return (
    <ul className="talk-plan">
      {text
        .split('\n')
        .filter((line) => line !== '')
        .map((line, i) => {
          const mark = /^\[([ x~])\] /.exec(line)?.[1];
          const state = mark === 'x' ? 'done' : mark === '~' ? 'running' : 'open';
          return (
            <li key={i} className={`plan-${state}`}>
              <span className="spoken">{state}: </span>
              {mark === undefined ? line : line.slice(4)}
            </li>
          );
        })}
    </ul>
  );
}
