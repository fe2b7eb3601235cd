/** An item of the inbox: who asks, since when, what exactly will be allowed, and the answers. */

import { useState } from 'react';
import type { InboxItem } from '../../api/types';
import { t, worded } from '../../language/t';
import { age, tick } from '../../state/clock';
import { answerItem, dismissItem, optionFor, placeOf } from '../../state/attention/inbox';
import { useDraft } from '../../state/drafts';
import { go, goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { Icon, type IconName } from '../parts/icons';
import { onTap } from '../parts/tap';

const KINDS = worded<Readonly<Record<InboxItem['kind'], { icon: IconName; words: string }>>>(
  () => ({
    agent: { icon: 'agent', words: t`asks` },
    secret: { icon: 'key', words: t`wants to send a secret` },
    command: { icon: 'terminal', words: t`wants to run a command` },
    push: { icon: 'branch', words: t`pushed a branch, held for you` },
    end: { icon: 'clock', words: t`ends soon` },
    setup: { icon: 'terminal', words: t`waits: the set-up failed` },
    conflict: { icon: 'branch', words: t`is in conflict` },
    host: { icon: 'network', words: t`wants to reach a host` },
    mention: { icon: 'comment', words: t`mentions you` },
    todo: { icon: 'todo', words: t`has a todo for you` },
    login: { icon: 'key', words: t`needs a new login` },
    tool: { icon: 'command', words: t`wants to call a tool` },
  }),
);

/** Answers that keys choose carry `data-key`, so that a key does what a click does. */
export function Item({ item }: { readonly item: InboxItem }) {
  const [busy, setBusy] = useState(false);
  const [allow, deny] = [optionFor(item, 'allow'), optionFor(item, 'deny')];

  function answer(with_: { option: string } | { text: string }): void {
    setBusy(true);
    void answerItem(item, with_).finally(() => setBusy(false));
  }

  if (item.place !== null) return <Mention item={item} place={item.place} />;
  if (item.kind === 'login') return <BrokenLogin item={item} />;
  return (
    <>
      <Head item={item} />
      {isQuestion(item) ? <Words lines={item.lines} /> : <Lines lines={item.lines} />}
      <div className="asking-acts">
        {item.options.map(({ id, label }) => (
          <button
            key={id}
            type="button"
            disabled={busy}
            data-key={id === allow ? 'y' : id === deny ? 'n' : undefined}
            className={id === allow ? 'button button-primary' : 'button'}
            {...onTap(() => answer({ option: id }))}
          >
            {label}
          </button>
        ))}
        {item.words && <OwnWords item={item} busy={busy} onSend={(text) => answer({ text })} />}
        <span className="spring" />
        <OpenButton item={item} />
      </div>
    </>
  );
}

/** A login of an agent that broke: its lines say how its person logs in again. */
function BrokenLogin({ item }: { readonly item: InboxItem }) {
  return (
    <>
      <Head item={item} />
      <Lines lines={item.lines} />
      <div className="asking-acts">
        <button
          type="button"
          className="button"
          data-key="n"
          {...onTap(() => void dismissItem(item))}
        >
          {t`Dismiss`}
        </button>
      </div>
    </>
  );
}

interface MentionProps {
  readonly item: InboxItem;
  readonly place: NonNullable<InboxItem['place']>;
}

/** What somebody wrote on a dashboard. To open it is to have seen it. */
function Mention({ item, place }: MentionProps) {
  function open(): void {
    goTo('dashboards', place.dashboard_id, place.item_id);
    void dismissItem(item);
  }
  return (
    <>
      <Head item={item} />
      {item.lines.length > 0 && <Lines lines={item.lines} />}
      <div className="asking-acts">
        <button
          type="button"
          className="button button-primary"
          data-key="Enter"
          onClick={open}
          aria-label={t`Open ${place.dashboard_name}`}
        >
          {t`Open`}
        </button>
        <button
          type="button"
          className="button"
          data-key="n"
          {...onTap(() => void dismissItem(item))}
        >
          {t`Dismiss`}
        </button>
      </div>
    </>
  );
}

function Head({ item }: { readonly item: InboxItem }) {
  const now = useStore(tick);
  const { kind, agent, author, since, times } = item;
  const { icon, words } = KINDS()[kind];
  const who = agent ?? author;
  return (
    <p className="asking-head">
      <Icon name={icon} />
      <strong>{placeOf(item)}</strong>
      <span>{who === null ? words : `${who} ${words}`}</span>
      <span className="quiet" title={new Date(since).toLocaleString()}>
        {times > 1 && `${t`${times} times`} · `}
        {age(since, now)}
      </span>
    </p>
  );
}

interface OwnWordsProps {
  readonly item: InboxItem;
  readonly busy: boolean;
  readonly onSend: (text: string) => void;
}

function OwnWords({ item, busy, onSend }: OwnWordsProps) {
  const [text, setText] = useDraft(`inbox:${item.id}`);
  return (
    <form
      className="talk-own"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') onSend(text);
      }}
    >
      <input
        aria-label={t`Your answer to ${placeOf(item)}`}
        placeholder={item.options.length > 0 ? t`Or in your own words` : t`Your answer`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button" disabled={busy || text.trim() === ''}>
        {t`Send`}
      </button>
    </form>
  );
}

/** Leads to the terminal or the cards of the agent that asks, else to the sandbox. */
function OpenButton({ item }: { readonly item: InboxItem }) {
  const { by, sandbox_id: sandbox, agent_id: agent } = item;
  return (
    <button
      type="button"
      className={by === 'terminal' ? 'button button-primary' : 'button'}
      data-key="Enter"
      onClick={() => go(sandbox, agent)}
    >
      {by === 'terminal' ? t`Answer at its terminal` : t`Open`}
    </button>
  );
}

/** An agent's question, whose answers allow nothing: words, not what exactly will be done. */
function isQuestion({ kind, by, options }: InboxItem): boolean {
  return (
    kind === 'agent' &&
    by === 'protocol' &&
    !options.some(({ effect }) => effect === 'allow' || effect === 'deny')
  );
}

function Words({ lines }: { readonly lines: readonly string[] }) {
  return (
    <div className="asking-words">
      {lines.map((line, i) => (
        <p key={i}>{line}</p>
      ))}
    </div>
  );
}

/** The server's own lines, word for word: a digest of them goes back with an answer. */
export function Lines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <pre className="asking-lines">
      {lines.map((line, i) => (
        <span key={i}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
