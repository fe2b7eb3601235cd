/** The items of the inbox: who asks, since when, what exactly will be allowed, and the answers. */

import { useState, type ReactNode } from 'react';
import type { Approval, Reach } from '../../api/types';
import { approve, decide } from '../../state/approvals';
import { age, tick } from '../../state/clock';
import { answerAgent, optionFor, type InboxItem } from '../../state/inbox';
import { go } from '../../state/route';
import { useStore } from '../../state/store';
import { Icon, type IconName } from '../parts/icons';

/** One item. Answers that keys choose carry `data-key`, so that a key does what a click does. */
export function Item({ item }: { readonly item: InboxItem }) {
  return item.kind === 'approval' ? (
    <ApprovalItem approval={item.approval} />
  ) : (
    <QuestionItem item={item} />
  );
}

interface HeadProps {
  readonly icon: IconName;
  readonly name: string;
  readonly at: string;
  readonly more?: string;
  readonly children: ReactNode;
}

function Head({ icon, name, at, more = '', children }: HeadProps) {
  const now = useStore(tick);
  return (
    <p className="asking-head">
      <Icon name={icon} />
      <strong>{name}</strong>
      <span>{children}</span>
      <span className="quiet" title={new Date(at).toLocaleString()}>
        {more}
        {age(at, now)}
      </span>
    </p>
  );
}

/** Runs one answer at a time. */
function useBusy(): readonly [boolean, (act: () => Promise<void>) => void] {
  const [busy, setBusy] = useState(false);
  return [
    busy,
    (act) => {
      setBusy(true);
      void act().finally(() => setBusy(false));
    },
  ];
}

const ICONS: Readonly<Record<string, IconName>> = { secret: 'key', command: 'terminal' };
const WANTS: Readonly<Record<string, string>> = {
  secret: 'wants to send a secret',
  command: 'wants to run a command',
};

function ApprovalItem({ approval }: { readonly approval: Approval }) {
  const [busy, run] = useBusy();
  const { kind, sandbox_name: name, times, asked_at: at } = approval;
  return (
    <>
      <Head
        icon={ICONS[kind] ?? 'network'}
        name={name}
        at={at}
        more={times > 1 ? `${times} times · ` : ''}
      >
        {WANTS[kind] ?? 'asks to be allowed'}
      </Head>
      <Lines lines={approval.lines} />
      <div className="asking-acts">
        {reachesOf(approval).map(({ reach, words }, i) => (
          <button
            key={reach}
            type="button"
            disabled={busy}
            data-key={i === 0 ? 'y' : undefined}
            className={i === 0 ? 'button button-primary' : 'button'}
            onClick={() => run(() => approve(approval, reach))}
          >
            {words}
          </button>
        ))}
        <span className="spring" />
        <button
          type="button"
          className="button"
          data-key="n"
          disabled={busy}
          onClick={() => run(() => decide(approval, 'deny'))}
        >
          Deny
        </button>
      </div>
    </>
  );
}

type Question = Extract<InboxItem, { kind: 'agent' }>;

function QuestionItem({ item }: { readonly item: Question }) {
  const { agent, sandboxId, name, at } = item;
  const { answer, question } = agent.status;
  return (
    <>
      <Head icon="agent" name={name} at={at}>
        {agent.agent} asks
      </Head>
      <Lines lines={[question === '' ? 'It waits for you.' : question]} />
      {answer === 'protocol' && <Answers item={item} />}
      <div className="asking-acts">
        <button
          type="button"
          className={answer === 'protocol' ? 'button' : 'button button-primary'}
          data-key="Enter"
          onClick={() => go(sandboxId, agent.id)}
        >
          {agent.mode === 'machine' ? 'Open its cards' : 'Open its terminal'}
        </button>
      </div>
    </>
  );
}

function Answers({ item }: { readonly item: Question }) {
  const [busy, run] = useBusy();
  const [text, setText] = useState('');
  const { agent, sandboxId } = item;
  const { options, words } = agent.status;
  const [allow, deny] = [optionFor(agent, 'allow'), optionFor(agent, 'deny')];
  const keyOf = (id: string): string | undefined =>
    id === allow ? 'y' : id === deny ? 'n' : undefined;
  return (
    <div className="asking-acts">
      {options.map((option) => (
        <button
          key={option.id}
          type="button"
          disabled={busy}
          data-key={keyOf(option.id)}
          className={option.id === allow ? 'button button-primary' : 'button'}
          onClick={() => run(() => answerAgent(sandboxId, agent, { option: option.id }))}
        >
          {option.label}
        </button>
      ))}
      {words && (
        <form
          className="talk-own"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '') run(() => answerAgent(sandboxId, agent, { text }));
          }}
        >
          <input
            aria-label={`Your answer to ${item.name}`}
            placeholder={options.length > 0 ? 'Or in your own words' : 'Your answer'}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <button type="submit" className="button" disabled={busy || text.trim() === ''}>
            Send
          </button>
        </form>
      )}
    </div>
  );
}

/** The server's own lines, word for word: a digest of them goes back with an approval. */
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

/** Only a secret may be approved for longer than once. */
function reachesOf({ kind }: Approval): readonly { reach: Reach; words: string }[] {
  if (kind !== 'secret') return [{ reach: 'once', words: 'Approve once' }];
  return [
    { reach: 'once', words: 'Approve once' },
    { reach: 'sandbox', words: 'For this sandbox' },
    { reach: 'organization', words: 'For the organization' },
  ];
}
