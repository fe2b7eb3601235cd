/** One box from a sentence to agents at work: what is to be done, where, and who does it. */

import { useEffect, useState, type KeyboardEvent } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { CatalogueAgent, Profile, Repository, Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { useDraft } from '../../state/drafts';
import { withProject } from '../../state/project';
import { go } from '../../state/route';
import { keep } from '../../state/sandboxes';
import { Field } from '../parts/Field';
import { AgentChoice } from './AgentChoice';
import { tipOf } from './beginning';
import { branchForAgent } from './branch';
import { baseOf, bodiesOf, branchOf, EMPTY, lackOf, placeOf, type TaskDraft } from './draft';
import { MoreFields } from './MoreFields';
import { SharedChoice } from './SharedChoice';
import { refsAt, useBeginning } from './useBeginning';

const randomKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

interface ComposerProps {
  /** The words it begins with. */
  readonly prompt?: string;
  /** Whether the whole team finds it, at first. */
  readonly shared?: boolean;
  /** Takes the sandboxes that were made, in place of going there. */
  readonly onStarted?: (made: readonly Sandbox[]) => void;
}

export function Composer({ prompt = '', shared = false, onStarted = show }: ComposerProps) {
  const [begun, keepBegun] = useDraft(`task:${prompt}`);
  const [draft, setDraft] = useState<TaskDraft>({ ...EMPTY, prompt: begun || prompt, shared });
  const [agents, setAgents] = useState<readonly CatalogueAgent[] | null>(null);
  const [profiles, setProfiles] = useState<readonly Profile[]>([]);
  const [known, setKnown] = useState<readonly Repository[]>([]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  // One key per draft that was sent: a repeated click or a lost answer makes no second sandbox.
  const [key, setKey] = useState(randomKey);

  function look(): void {
    api.catalogue().then(
      (list) => {
        setAgents(list);
        setDraft((now) => ({ ...now, agents: firstChoice(now.agents, list) }));
      },
      () => setAgents([]),
    );
  }
  useEffect(() => {
    look();
    api.repositories().then(
      (list) => {
        setKnown(list);
        setDraft((now) => ({ ...now, repo: now.repo || firstRepo(list) }));
      },
      () => setKnown([]),
    );
    api.profiles().then(setProfiles, () => setProfiles([]));
  }, []);

  function change(part: Partial<TaskDraft>): void {
    setDraft((now) => ({ ...now, ...part }));
    if (part.prompt !== undefined) keepBegun(part.prompt);
    setKey(randomKey());
    setTrouble(null);
  }

  async function submit(event: { preventDefault: () => void }): Promise<void> {
    event.preventDefault();
    const lack = lackOf(draft);
    setTrouble(lack);
    if (lack !== null || busy) return;
    setBusy(true);
    try {
      const made = await start(draft, known, key);
      setDraft({ ...EMPTY, agents: draft.agents, repo: draft.repo, url: draft.url });
      keepBegun('');
      setKey(randomKey());
      onStarted(made);
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
    } finally {
      setBusy(false);
    }
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit(event);
  }

  return (
    <form
      className="composer form"
      aria-label={t`New task`}
      noValidate
      onSubmit={(event) => void submit(event)}
      onKeyDown={onKeyDown}
    >
      {trouble !== null && (
        <p className="form-trouble" role="alert">
          {trouble}
        </p>
      )}
      <Field label={t`What is to be done`} hint={t`Ctrl+Enter starts it`} trouble={null}>
        {(props) => (
          <textarea
            {...props}
            rows={3}
            value={draft.prompt}
            placeholder={t`Fix the login page so that …`}
            onChange={(event) => change({ prompt: event.target.value })}
          />
        )}
      </Field>
      <RepoFields draft={draft} known={known} change={change} />
      <AgentChoice
        agents={agents}
        chosen={draft.agents}
        onChoose={(chosen) => change({ agents: chosen })}
        onMended={look}
      />
      <SharedChoice shared={draft.shared} onChange={(shared) => change({ shared })} />
      <MoreFields draft={draft} profiles={profiles} change={change} />
      <footer className="dialog-foot">
        <button type="submit" className="button button-primary" disabled={busy}>
          {startWords(draft.agents, busy)}
        </button>
      </footer>
    </form>
  );
}

/** What a task most likely is about: a repository of this server, where there is one. */
function firstRepo([first]: readonly Repository[]): string {
  return first === undefined ? '' : `key:${first.key}`;
}

/** Keeps what is still there, else the first agent that works. */
function firstChoice(
  chosen: readonly string[],
  list: readonly CatalogueAgent[],
): readonly string[] {
  const working = list.filter((one) => one.prompts && one.state === 'works');
  const kept = chosen.filter((name) => working.some((one) => one.name === name));
  const first = working[0];
  return kept.length > 0 || first === undefined ? kept : [first.name];
}

function startWords(agents: readonly string[], busy: boolean): string {
  if (busy) return t`Starting…`;
  if (agents.length > 1) return t`Start ${agents.length} agents`;
  return agents[0] === undefined ? t`Start` : t`Start ${agents[0]}`;
}

/** Makes the sandboxes. */
async function start(
  draft: TaskDraft,
  known: readonly Repository[],
  key: string,
): Promise<readonly Sandbox[]> {
  const group = `tg_${key.replaceAll('-', '').slice(0, 16)}`;
  const bodies = bodiesOf(draft, known, group, await knownBase(draft, known));
  const made: Sandbox[] = [];
  for (const [number, body] of bodies.entries()) {
    const one = await api.create(await withProject(body), `${key}-${number}`);
    keep(one);
    made.push(one);
  }
  return made;
}

/** The typed branch of several agents, if the repository has it; else each begins at the default. */
async function knownBase(draft: TaskDraft, known: readonly Repository[]): Promise<string | null> {
  const [base, place] = [baseOf(draft), placeOf(draft, known)];
  if (base === null || place === null) return null;
  return tipOf(await refsAt(place), base) === null ? null : base;
}

/** Opens the only one that was made. */
function show(made: readonly Sandbox[]): void {
  const [only] = made;
  if (made.length === 1 && only !== undefined) go(only.sandbox_id);
  else notify(t`Started ${made.map(({ name }) => name).join(', ')}.`);
}

/** What becomes of the branch, and where it begins. */
function branchHint(draft: TaskDraft, begins: string | null): string {
  const [first] = draft.agents;
  if (draft.agents.length < 2 || first === undefined)
    return begins ?? (draft.branch === null ? t`Proposed from your words` : '');
  const own = t`Each agent has its own, as ${branchForAgent(branchOf(draft) || '…', first)}`;
  return begins === null ? own : `${own}. ${begins}`;
}

interface RepoProps {
  readonly draft: TaskDraft;
  readonly known: readonly Repository[];
  readonly change: (part: Partial<TaskDraft>) => void;
}

function RepoFields({ draft, known, change }: RepoProps) {
  const typed = { branch: draft.branch ?? '', from: draft.fromBranch };
  const { words, look } = useBeginning(placeOf(draft, known), typed);
  return (
    <div className="form-row">
      <Field label={t`Repository`} trouble={null}>
        {(props) => (
          <select
            {...props}
            value={draft.repo}
            onChange={(event) => change({ repo: event.target.value })}
          >
            <option value="">{t`None: an empty workspace`}</option>
            {known.map((repo) => (
              <option key={repo.key} value={`key:${repo.key}`}>
                {repo.name}
              </option>
            ))}
            <option value="url">{t`By address…`}</option>
          </select>
        )}
      </Field>
      {draft.repo === 'url' && (
        <Field label={t`Address`} hint={t`https://… or owner/repo`} trouble={null} grow>
          {(props) => (
            <input
              {...props}
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              value={draft.url}
              onChange={(event) => change({ url: event.target.value })}
            />
          )}
        </Field>
      )}
      {draft.repo !== '' && (
        <Field label={t`Branch`} hint={branchHint(draft, words)} trouble={null}>
          {(props) => (
            <input
              {...props}
              autoComplete="off"
              spellCheck={false}
              value={branchOf(draft)}
              onFocus={look}
              onChange={(event) => change({ branch: event.target.value })}
            />
          )}
        </Field>
      )}
    </div>
  );
}
