/** One box from a sentence to agents at work: what is to be done, where, and who does it. */

import { useId, useState, type KeyboardEvent } from 'react';
import type { CatalogueAgent, Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { go, goTo } from '../../state/route';
import { AgentChips, FirstAgent, workingOf } from './AgentChoice';
import { BranchChip, RepositoryChip } from './Chips';
import type { Home, Known } from './composing';
import { IssueChip } from './issues/IssueChip';
import { issueAddress } from './issues/issues';
import { MoreFields } from './MoreFields';
import { planWords } from './plan';
import { useComposer, type ComposerState } from './useComposer';

interface ComposerProps {
  /** What it begins with. */
  readonly known?: Known;
  /** A sandbox that is offered in place of a new one. */
  readonly home?: Home | null;
  /** Takes the sandboxes that were made, in place of going there. */
  readonly onStarted?: (made: readonly Sandbox[]) => void;
}

const NOTHING: Known = {};

export function Composer({ known = NOTHING, home = null, onStarted = show }: ComposerProps) {
  const state = useComposer(known, home, onStarted);
  const { draft, offers, trouble, busy, look, submit } = state;
  const [more, setMore] = useState(false);
  const id = useId();

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void submit();
  }

  return (
    <form
      className="composer"
      aria-label={t`New task`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={onKeyDown}
    >
      <div className="composer-box">
        <Words state={state} />
        <div className="chips">
          <HomeChip {...{ state, home }} />
          <IssueChip state={state} />
          {draft.within ? (
            <HomeAgents {...{ state, home }} />
          ) : (
            <TaskChips state={state} more={{ id: `${id}-more`, open: more, onOpen: setMore }} />
          )}
        </div>
        <button
          type="submit"
          className="button button-primary composer-start"
          aria-describedby={`${id}-plan`}
          disabled={busy}
        >
          {startWords(state)}
          <kbd aria-hidden="true" className="wide-only">
            Ctrl ⏎
          </kbd>
        </button>
        <div id={`${id}-more`} className="composer-rest" hidden={!more || draft.within}>
          {more && <MoreFields state={state} />}
        </div>
      </div>
      {trouble !== null && (
        <p className="form-trouble" role="alert">
          {trouble.text}
        </p>
      )}
      <p className="composer-plan" id={`${id}-plan`}>
        {planWords(draft, offers)}
      </p>
      <FirstAgent agents={offers.agents} onMended={look} />
    </form>
  );
}

/** The sentence, or the name of a sandbox without an agent. */
function Words({ state }: { readonly state: ComposerState }) {
  const { draft, trouble, change, takeIssue } = state;
  if (draft.bare) {
    return (
      <input
        className="composer-words"
        aria-label={t`Name`}
        aria-invalid={trouble?.field === 'name'}
        autoComplete="off"
        placeholder={t`Name of the sandbox; left empty, it is made from repository and branch`}
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
      />
    );
  }
  return (
    <textarea
      className="composer-words"
      data-first-focus
      aria-label={t`What is to be done`}
      aria-invalid={trouble?.field === 'prompt'}
      rows={2}
      value={draft.prompt}
      placeholder={
        draft.issue === null ? t`Fix the login page so that …` : t`Anything to add to it?`
      }
      onPaste={(event) => {
        const address = issueAddress(event.clipboardData.getData('text'));
        if (address === null) return;
        event.preventDefault();
        void takeIssue(address);
      }}
      onChange={(event) => change({ prompt: event.target.value })}
    />
  );
}

interface TaskChipsProps {
  readonly state: ComposerState;
  /** The fields that most tasks leave as they are. */
  readonly more: {
    readonly id: string;
    readonly open: boolean;
    readonly onOpen: (open: boolean) => void;
  };
}

/** What a sandbox of its own is made of. */
function TaskChips({ state, more: { id, open, onOpen } }: TaskChipsProps) {
  const { draft, offers, change } = state;
  return (
    <>
      <RepositoryChip state={state} />
      <BranchChip state={state} />
      <AgentChips
        agents={offers.agents}
        chosen={draft.agents}
        bare={draft.bare}
        onChoose={(agents) => change({ agents, bare: false })}
        onBare={(bare) => change({ bare })}
      />
      {!draft.bare && <AsksChip state={state} />}
      <button
        type="button"
        className="chip chip-more"
        aria-expanded={open}
        aria-controls={id}
        title={t`Profile, name, network and life`}
        onClick={() => onOpen(!open)}
      >
        {t`More`}
      </button>
    </>
  );
}

interface HomeProps {
  readonly state: ComposerState;
  readonly home: Home | null;
}

/** Which agent begins in the sandbox that is there: one alone. */
function HomeAgents({ state: { draft, offers, change }, home }: HomeProps) {
  return (
    <AgentChips
      agents={insideOf(offers.agents, home)}
      chosen={draft.agents}
      bare={false}
      onChoose={(agents) => change({ agents: agents.slice(-1) })}
      onBare={null}
    />
  );
}

/** Whether an agent begins in the sandbox that is there; nothing where none that works is in it. */
function HomeChip({ state: { draft, offers, change }, home }: HomeProps) {
  const inside = workingOf(insideOf(offers.agents, home) ?? []).map(({ name }) => name);
  const [first] = inside;
  if (first === undefined) return null;
  const agent = draft.agents.find((one) => inside.includes(one)) ?? first;
  return (
    <label
      className="chip chip-check"
      title={t`Beside its terminals, with its files; no sandbox is made`}
    >
      <input
        type="checkbox"
        checked={draft.within}
        onChange={({ target }) =>
          change(
            target.checked ? { within: true, bare: false, agents: [agent] } : { within: false },
          )
        }
      />
      {t`in this dashboard’s sandbox`}
    </label>
  );
}

/** Those that are installed in a sandbox. */
function insideOf(
  agents: readonly CatalogueAgent[] | null,
  home: Home | null,
): readonly CatalogueAgent[] | null {
  return agents?.filter(({ name }) => home?.agents.includes(name) === true) ?? null;
}

/** Whether the agent asks before it acts, which it does with cards. */
function AsksChip({ state: { draft, change } }: { readonly state: ComposerState }) {
  const asks = draft.mode === 'machine' && draft.asks;
  return (
    <label
      className="chip chip-check"
      title={t`It works with cards and asks before each command and change`}
    >
      <input
        type="checkbox"
        checked={asks}
        onChange={(event) =>
          change({ mode: event.target.checked ? 'machine' : 'tui', asks: event.target.checked })
        }
      />
      {t`asks first`}
    </label>
  );
}

function startWords({ draft: { agents, bare }, busy }: ComposerState): string {
  if (bare) return busy ? t`Creating…` : t`Create sandbox`;
  if (busy) return t`Starting…`;
  if (agents.length > 1) return t`Start ${agents.length} agents`;
  return agents[0] === undefined ? t`Start` : t`Start ${agents[0]}`;
}

/** Opens the only one that was made, or the comparison of several with one task. */
export function show(made: readonly Sandbox[]): void {
  const [first] = made;
  const group = first?.task?.group ?? null;
  if (made.length === 1 && first !== undefined) go(first.sandbox_id);
  else if (group !== null) goTo('compare', group);
  else notify(t`Started ${made.map(({ name }) => name).join(', ')}.`);
}
