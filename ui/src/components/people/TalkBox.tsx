/** A line of talk beside a shared terminal: what people there said, and one's own. */

import { useEffect, useRef, useState } from 'react';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { login } from '../../state/login';
import type { TalkLine } from '../../terminal/attach/party';
import { everybody } from '../../terminal/attach/party';
import type { AttachStatus } from '../../terminal/attach/status';
import type { TerminalView } from '../../terminal/screen/view';
import { Avatar } from '../parts/Avatar';
import { Pop } from '../parts/Pop';

interface TalkBoxProps {
  readonly status: AttachStatus;
  readonly view: TerminalView | null;
}

const MAX_CHARACTERS = 500;
const TOLD_CHARACTERS = 120;
/** The client of lines that the server says. */
const ATOLL = 'atoll';

/** There is talk where more than one person is, or something was said. */
export function TalkBox({ status, view }: TalkBoxProps) {
  const { talk, control, me } = status;
  // Here, as it outlives the box that closes.
  const [text, setText] = useState('');
  useTold(status);
  const people = new Set(control === null ? [] : everybody(control).map((one) => one.principal));
  if (people.size < 2 && talk.lines.length === 0) return null;
  return (
    <Pop
      summary={talk.lines.length === 0 ? t`Talk` : t`Talk · ${talk.lines.at(-1)?.name ?? ''}`}
      tone=""
    >
      {() => (
        <div className="chat">
          <Lines lines={talk.lines} mine={me?.principal ?? ''} />
          <Say text={text} onText={setText} onSay={(said) => view?.say(said)} />
        </div>
      )}
    </Pop>
  );
}

interface LinesProps {
  readonly lines: readonly TalkLine[];
  readonly mine: string;
}

function Lines({ lines, mine }: LinesProps) {
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // In braces: a browser may return a promise, which is no way to undo an effect.
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines]);
  if (lines.length === 0) return <p className="quiet">{t`Nobody has said anything yet.`}</p>;
  return (
    <ol className="chat-lines" aria-label={t`What people here said`} tabIndex={0}>
      {lines.map((line, at) => (
        <li key={line.number} ref={at === lines.length - 1 ? end : undefined}>
          <Avatar name={line.name} principal={line.principal} />
          <span className="chat-words">
            <strong>{line.principal === mine ? t`You` : line.name}</strong> {line.text}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface SayProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSay: (text: string) => void;
}

function Say({ text, onText, onSay }: SayProps) {
  return (
    <form
      className="chat-say"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === '') return;
        onSay(text.trim());
        onText('');
      }}
    >
      <input
        autoFocus
        aria-label={t`Say to everybody here`}
        placeholder={t`Say to everybody here`}
        autoComplete="off"
        maxLength={MAX_CHARACTERS}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <button type="submit" className="button button-small">
        {t`Say`}
      </button>
    </form>
  );
}

/** Tells a line that somebody else said just now, wherever the eyes are. */
function useTold({ talk, me }: AttachStatus): void {
  const client = me?.client;
  useEffect(() => {
    const last = talk.lines.at(-1);
    if (last === undefined || talk.by === '' || talk.by === client) return;
    // Who hears the log was told by it already.
    if (talk.by === ATOLL && login.get().is === 'in') return;
    notify(`${last.name}: ${last.text.slice(0, TOLD_CHARACTERS)}`);
  }, [talk, client]);
}
