/** One command of a shell: its line, its output as it was coloured, how it ended; copy, run again. */

import { useMemo, type CSSProperties } from 'react';
import type { Card } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { runsOf, withoutColours, type Look } from '../../terminal/cards/coloured';
import { Icon } from '../parts/icons';

interface CommandBlockProps {
  readonly card: Card;
  /** Types a line at the terminal; null where this person may not. */
  readonly onRun: ((line: string) => void) | null;
}

/** Longer output is folded, its end in view. */
const FOLD_LINES = 30;
// eslint-disable-next-line no-control-regex -- a line with one is not typed again
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

export function CommandBlock({ card, onRun }: CommandBlockProps) {
  const { command, exit_code: exit, seconds, cwd } = card.data;
  const line = typeof command === 'string' ? command : card.title;
  const again =
    onRun !== null && card.state !== 'running' && line !== '' && !UNPRINTABLE.test(line);
  return (
    <section className={`talk-card talk-${card.state} block`}>
      <header className="talk-head">
        <Icon name="terminal" />
        <span className="talk-title talk-code" title={typeof cwd === 'string' ? cwd : undefined}>
          {line || t`a command`}
        </span>
        <span className={`talk-state talk-state-${card.state}`}>
          {[exitWords(card, exit), timeWords(seconds)].filter(Boolean).join(' · ')}
        </span>
        {card.text !== '' && (
          <Tool icon="copy" label={t`Copy the output`} onClick={() => copy(card.text)} />
        )}
        {again && <Tool icon="recreate" label={t`Run again`} onClick={() => onRun(line)} />}
      </header>
      {card.text !== '' && <ColouredOutput text={card.text} />}
      {card.cut && <p className="quiet">{t`It was longer; the rest is not kept.`}</p>}
    </section>
  );
}

function exitWords({ state }: Card, exit: unknown): string {
  if (state === 'running') return 'running';
  return typeof exit === 'number' ? t`exit ${exit}` : 'ended';
}

function timeWords(seconds: unknown): string {
  if (typeof seconds !== 'number') return '';
  if (seconds >= 60) return t`${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return seconds >= 10 ? `${Math.round(seconds)} s` : `${seconds.toFixed(1)} s`;
}

function copy(text: string): void {
  navigator.clipboard.writeText(withoutColours(text)).then(
    () => notify(t`The output was copied.`),
    () => notify(t`The browser does not let the page copy.`, 'bad'),
  );
}

function ColouredOutput({ text }: { readonly text: string }) {
  const runs = useMemo(() => runsOf(text.replace(/\n$/, '')), [text]);
  const lines = text.split('\n').length - 1;
  const shown = (
    <pre className="talk-out block-out" tabIndex={0} aria-label={t`Output`}>
      {runs.map((run, i) => (
        <span key={i} className={classOf(run.look)} style={styleOf(run.look)}>
          {run.text}
        </span>
      ))}
    </pre>
  );
  if (lines <= FOLD_LINES) return shown;
  return (
    <details className="talk-fold">
      <summary>{t`${lines} lines`}</summary>
      {shown}
    </details>
  );
}

/** The colours as they are drawn: inverse exchanges them. */
function shownOf({ front, back, inverse }: Look): Pick<Look, 'front' | 'back'> {
  return inverse ? { front: back ?? 'inverse', back: front ?? 'inverse' } : { front, back };
}

/** A colour of a class of its own: one of the sixteen, or that of inverse. */
function named(colour: Look['front']): boolean {
  return typeof colour === 'number' || colour === 'inverse';
}

function classOf(look: Look): string | undefined {
  const { front, back } = shownOf(look);
  const names = [
    named(front) && `sgr-front-${front}`,
    named(back) && `sgr-back-${back}`,
    look.bold && 'sgr-bold',
    look.dim && 'sgr-dim',
    look.italic && 'sgr-italic',
    look.underline && 'sgr-underline',
    look.strike && 'sgr-strike',
  ].filter((name) => typeof name === 'string');
  return names.length === 0 ? undefined : names.join(' ');
}

/** Black or white, whichever is read on a colour. */
function inkOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    parseInt(colour.slice(at, at + 2), 16),
  );
  return red * 0.299 + green * 0.587 + blue * 0.114 > 140 ? '#000' : '#fff';
}

function styleOf(look: Look): CSSProperties | undefined {
  const [front, back] = [shownOf(look).front, shownOf(look).back].map((colour) =>
    typeof colour === 'string' && !named(colour) ? colour : undefined,
  );
  if (front === undefined && back === undefined) return undefined;
  const plain = shownOf(look).front === null && back !== undefined;
  return { color: plain ? inkOn(back) : front, backgroundColor: back };
}

interface ToolProps {
  readonly icon: 'copy' | 'recreate';
  readonly label: string;
  readonly onClick: () => void;
}

function Tool({ icon, label, onClick }: ToolProps) {
  return (
    <button
      type="button"
      className="button-icon"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
