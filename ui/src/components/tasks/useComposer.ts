/** The state of the box for a task: its draft, what there is to choose from, and how it is sent. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { CatalogueAgent, Profile, Repository, Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { useDraft } from '../../state/drafts';
import { withProject } from '../../state/tasks/project';
import { keep } from '../../state/sandboxes';
import { fieldOf } from '../parts/Field';
import { tipOf } from './beginning';
import { choiceOf, lastChoice, rememberChoice, type Source } from '../../state/tasks/choices';
import type { Home, Known } from './composing';
import { baseOf, bodiesOf, EMPTY, lackOf, placeOf, type Lack, type TaskDraft } from './draft';
import { findIssue, sourceOf, wordsWith } from './issues/issues';
import { refsAt } from './useBeginning';

const randomKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

/** What there is to choose from; null until it is known. */
export interface Offers {
  /** Whether agents and repositories were listed. */
  readonly listed: boolean;
  readonly agents: readonly CatalogueAgent[] | null;
  readonly profiles: readonly Profile[];
  readonly repositories: readonly Repository[];
}

export interface ComposerState {
  readonly draft: TaskDraft;
  readonly offers: Offers;
  readonly trouble: Lack | null;
  readonly busy: boolean;
  /** The address of an issue that is being read; null while none is. */
  readonly reading: string | null;
  readonly change: (part: Partial<TaskDraft>) => void;
  /** Takes a repository, with what was chosen for it last. */
  readonly choose: (source: Source) => void;
  /** Takes an issue or a pull request by its address: repository, branch and task. */
  readonly takeIssue: (address: string) => Promise<void>;
  readonly dropIssue: () => void;
  /** Asks anew which agents work here. */
  readonly look: () => void;
  readonly submit: () => Promise<void>;
}

export function useComposer(
  known: Known,
  home: Home | null,
  onStarted: (made: readonly Sandbox[]) => void,
): ComposerState {
  const [begun, keepBegun] = useDraft(`task:${known.prompt ?? ''}`);
  const [draft, setDraft] = useState(() => firstDraft(known, begun));
  const [trouble, setTrouble] = useState<Lack | null>(null);
  const [busy, setBusy] = useState(false);
  // One key per draft that was sent: a repeated click or a lost answer makes no second sandbox.
  const [key, setKey] = useState(randomKey);
  const { offers, look } = useOffers({
    onFound: (list) => setDraft((now) => fitted(now, known, list)),
    onProfiles: (profiles, agents) =>
      setDraft((now) => ({ ...now, ...ofProfile(known.profile ?? '', profiles, agents) })),
  });

  function change(part: Partial<TaskDraft>): void {
    setDraft((now) => ({ ...now, ...part }));
    if (part.prompt !== undefined) keepBegun(part.prompt);
    setKey(randomKey());
    setTrouble(null);
  }

  async function submit(): Promise<void> {
    // An empty workspace without an agent needs nothing of what is listed.
    const enough = offers.listed || (draft.bare && draft.repo === '');
    const lack = enough ? lackOf(draft) : LISTING();
    setTrouble(lack);
    if (lack !== null || busy) return;
    const [agent] = draft.agents;
    if (draft.within && agent !== undefined) {
      keepBegun('');
      home?.begin(agent, wordsWith(draft.issue, draft.prompt).trim());
      return;
    }
    setBusy(true);
    try {
      const made = await start(draft, offers.repositories, key);
      if (!draft.bare) rememberChoice(draft);
      setDraft({
        ...draft,
        prompt: '',
        issue: null,
        name: '',
        branch: null,
        fromBranch: '',
        bare: false,
      });
      keepBegun('');
      setKey(randomKey());
      onStarted(made);
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble({ field: fieldOf(reason.field), text: reason.message });
    } finally {
      setBusy(false);
    }
  }

  const choose = (source: Source): void => change({ ...source, ...choiceOf(source), chosen: true });
  const issues = useIssues(offers.repositories, { change, onTrouble: setTrouble });
  return { draft, offers, trouble, busy, ...issues, change, choose, look, submit };
}

interface IssueCalls {
  readonly change: (part: Partial<TaskDraft>) => void;
  readonly onTrouble: (trouble: Lack) => void;
}

/** Reads issues into the draft. */
function useIssues(
  known: readonly Repository[],
  { change, onTrouble }: IssueCalls,
): Pick<ComposerState, 'reading' | 'takeIssue' | 'dropIssue'> {
  const [reading, setReading] = useState<string | null>(null);
  async function takeIssue(address: string): Promise<void> {
    change({});
    setReading(address);
    try {
      const issue = await findIssue(address);
      const source = sourceOf(issue, known);
      change({ ...source, ...choiceOf(source), issue, branch: issue.branch, fromBranch: '' });
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      onTrouble({ field: 'repo_url', text: reason.message });
    } finally {
      setReading(null);
    }
  }
  const dropIssue = (): void => change({ issue: null, branch: null });
  return { reading, takeIssue, dropIssue };
}

const LISTING = worded<Lack>(() => ({
  field: null,
  text: t`Agents and repositories are still being listed: try again in a moment.`,
}));

/** What is known, over what was chosen last. */
function firstDraft(known: Known, begun: string): TaskDraft {
  const { source = {}, choice = {} } = lastChoice() ?? {};
  const of = known.repo === undefined ? null : { repo: known.repo, url: known.url ?? '' };
  const last = of === null ? { ...source, ...choice } : { ...choice, ...choiceOf(of) };
  return { ...EMPTY, ...last, ...known, prompt: begun || (known.prompt ?? '') };
}

/** The draft with what there is: a repository and an agent for whoever never chose one. No other
 *  agent takes the place of one that does not work now. */
function fitted(draft: TaskDraft, known: Known, offers: Offers): TaskDraft {
  const { agents, repositories } = offers;
  const gone = draft.repo.startsWith('key:') && !isHere(draft.repo, repositories);
  const never = lastChoice() === null && known.repo === undefined && !draft.chosen;
  const [first] = repositories;
  // No other repository takes the place of the one that the box was opened with.
  const other = known.repo === draft.repo ? '' : firstKey(first);
  const repo = gone || (never && draft.repo === '' && first !== undefined) ? other : null;
  return {
    ...draft,
    ...(repo === null ? {} : { repo }),
    ...(agents === null ? {} : { agents: fittedAgents(draft, known, agents) }),
  };
}

function isHere(repo: string, list: readonly Repository[]): boolean {
  return list.some(({ key }) => `key:${key}` === repo);
}

function firstKey(first: Repository | undefined): string {
  return first === undefined ? '' : `key:${first.key}`;
}

function fittedAgents(
  draft: TaskDraft,
  known: Known,
  list: readonly CatalogueAgent[],
): readonly string[] {
  const working = list.filter((one) => one.prompts && one.state === 'works');
  const kept = draft.agents.filter((name) => working.some((one) => one.name === name));
  const never = lastChoice() === null && known.agents === undefined;
  const [first] = working;
  return kept.length > 0 || !never || first === undefined || draft.bare ? kept : [first.name];
}

/** The part of a draft that a profile says: the agent that it is for, where that works here. */
export function ofProfile(
  id: string,
  profiles: readonly Profile[],
  agents: readonly CatalogueAgent[],
): Partial<TaskDraft> {
  const name = profiles.find((one) => one.id === id)?.agent ?? null;
  const agent = agents.find((one) => one.name === name || one.aliases.includes(name ?? ''));
  return agent?.state === 'works' ? { agents: [agent.name], bare: false } : {};
}

interface OfferCalls {
  /** Called once with agents and repositories, and again with the agents. */
  readonly onFound: (offers: Offers) => void;
  readonly onProfiles: (profiles: readonly Profile[], agents: readonly CatalogueAgent[]) => void;
}

const NOTHING: Offers = { listed: false, agents: null, profiles: [], repositories: [] };

/** Fetches what there is to choose from. */
function useOffers({ onFound, onProfiles }: OfferCalls): { offers: Offers; look: () => void } {
  const [offers, setOffers] = useState(NOTHING);
  function look(): void {
    api.catalogue().then(
      (agents) => {
        setOffers((now) => ({ ...now, agents }));
        onFound({ ...offers, agents });
      },
      () => setOffers((now) => ({ ...now, agents: now.agents ?? [] })),
    );
  }
  useEffect(() => {
    const agents = api.catalogue().catch(() => []);
    const repositories = api.repositories().catch(() => []);
    void agents.then((list) => setOffers((now) => ({ ...now, agents: list })));
    void Promise.all([agents, repositories]).then(([ofAgents, ofRepositories]) => {
      setOffers((now) => ({ ...now, listed: true, repositories: ofRepositories }));
      onFound({ ...NOTHING, agents: ofAgents, repositories: ofRepositories });
    });
    const profiles = api.profiles().catch(() => []);
    void Promise.all([agents, profiles]).then(([ofAgents, ofProfiles]) => {
      setOffers((now) => ({ ...now, profiles: ofProfiles }));
      onProfiles(ofProfiles, ofAgents);
    });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, when the box is opened
  }, []);
  return { offers, look };
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
