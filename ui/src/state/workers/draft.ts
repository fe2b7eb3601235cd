/** What a person says of a new worker, as the body of its create, and whose field an error is. Pure. */

import type { Repository, Schemas } from '../../api/types';
import { t } from '../../language/t';

export interface RepoDraft {
  /** Tells the rows of the form apart. */
  readonly row: number;
  /** The key of a repository that is here already; empty for one by its address. */
  readonly known: string;
  readonly url: string;
  readonly branch: string;
  readonly fromBranch: string;
}

/** Where it runs: as the policy says, on a linked machine, in a new sandbox, on a backend that is
 *  named (`on:docker`), or in a sandbox that is there (`in:sb_1`). */
export type Place = '' | 'desktop' | 'sandbox' | `on:${string}` | `in:${string}`;

export interface WorkerDraft {
  readonly name: string;
  readonly agent: string;
  /** Empty: the usual one of its agent. */
  readonly profile: string;
  readonly place: Place;
  readonly repos: readonly RepoDraft[];
  readonly permissions: Schemas['Permissions'];
  readonly teardown: Schemas['TeardownPolicy'];
  readonly keptFor: string;
  readonly thread: string;
  readonly region: string;
  readonly isolation: Schemas['IsolationLevel'] | '';
  readonly cost: string;
}

export const NEW_WORKER: WorkerDraft = {
  name: '',
  agent: 'codex',
  profile: '',
  place: '',
  repos: [],
  permissions: 'ask',
  teardown: 'retain',
  keptFor: '',
  thread: '',
  region: '',
  isolation: '',
  cost: '',
};

export const MOST_REPOS = 16;

/** A trouble of the form, and the field that it stands at; null for the form as a whole. */
export interface DraftTrouble {
  readonly field: string | null;
  readonly text: string;
}

/** Whether it goes into a sandbox that is there, which has its profile and its repositories. */
export const movesIn = ({ place }: WorkerDraft): boolean => place.startsWith('in:');
/** Whether repositories are laid out for it: a desktop works in the folder that its person named. */
export const takesRepos = (draft: WorkerDraft): boolean =>
  !movesIn(draft) && draft.place !== 'desktop';
/** Whether a route chooses its place, within limits. */
export const isRouted = ({ place }: WorkerDraft): boolean => place === '' || place === 'sandbox';

/** The body of its create: only what its place knows. */
export function bodyOf(draft: WorkerDraft, known: readonly Repository[]): Schemas['WorkerBody'] {
  const { agent, profile, place, permissions, teardown, keptFor, thread } = draft;
  const kept = keptFor.trim();
  const repos = takesRepos(draft) ? draft.repos.map((one) => repoOf(one, known)) : [];
  const selection = isRouted(draft) ? selectionOf(draft) : {};
  return {
    worker_id: draft.name.trim(),
    agent,
    permissions,
    ...(movesIn(draft)
      ? {}
      : {
          teardown: {
            policy: teardown,
            ...(teardown === 'retain' && kept !== '' ? { retain_for: kept } : {}),
          },
        }),
    ...placeOf(place),
    ...(profile === '' || movesIn(draft) ? {} : { profile }),
    ...(repos.length === 0 ? {} : { repos }),
    ...(thread.trim() === '' ? {} : { thread_id: thread.trim() }),
    ...(Object.keys(selection).length === 0 ? {} : { selection }),
  };
}

function placeOf(place: Place): Partial<Schemas['WorkerBody']> {
  if (place === 'desktop' || place === 'sandbox') return { execution_mode: place };
  if (place.startsWith('on:')) return { backend: place.slice(3) };
  return place === '' ? {} : { workspace_ref: `sandbox:${place.slice(3)}/workspace` };
}

function repoOf(draft: RepoDraft, known: readonly Repository[]): Schemas['RepoBody'] {
  const here = known.find(({ key }) => key === draft.known);
  return {
    repo_url: here === undefined ? draft.url.trim() : addressOf(here),
    branch: draft.branch.trim() || null,
    from_branch: draft.fromBranch.trim() || null,
    key: here?.key ?? null,
  };
}

/** A checkout without an origin has a name only. */
function addressOf({ repo_url: url, name }: Repository): string | null {
  return url || (name ? `local/${name}` : null);
}

function selectionOf({ region, isolation, cost }: WorkerDraft): Schemas['SelectionBody'] {
  const [amount = '', currency = ''] = cost.trim().split(/\s+/);
  return {
    ...(region.trim() === '' ? {} : { region: region.trim() }),
    ...(isolation === '' ? {} : { require_isolation: isolation }),
    ...(amount === '' ? {} : { max_cost_per_hour: { amount, currency: currency.toUpperCase() } }),
  };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const COST = /^\d{1,9}(\.\d{1,6})?\s+[A-Za-z]{3}$/;

/** What a draft lacks before it is worth sending; null where the server may judge it. `taken` are
 *  the names of the workers that are there: a create of theirs would start them again. */
export function lackOf(draft: WorkerDraft, taken: ReadonlySet<string>): DraftTrouble | null {
  const name = draft.name.trim();
  if (name === '') return { field: 'name', text: t`Give it a name.` };
  if (!NAME.test(name)) {
    return {
      field: 'name',
      text: t`A name has 1 to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.`,
    };
  }
  if (taken.has(name)) {
    return { field: 'name', text: t`You have a worker of this name: choose another one.` };
  }
  const bare = takesRepos(draft)
    ? draft.repos.find(({ known, url }) => known === '' && url.trim() === '')
    : undefined;
  if (bare !== undefined) {
    return { field: `${bare.row}.url`, text: t`Give its address, or remove it.` };
  }
  if (isRouted(draft) && draft.cost.trim() !== '' && !COST.test(draft.cost.trim())) {
    return { field: 'cost', text: t`Write an amount and a currency, such as 0.12 EUR.` };
  }
  return null;
}

const FIELDS: Readonly<Record<string, string>> = {
  worker_id: 'name',
  agent: 'agent',
  profile: 'profile',
  backend: 'place',
  execution_mode: 'place',
  workspace_ref: 'place',
  selection: 'place',
  'selection.region': 'region',
  'selection.require_isolation': 'isolation',
  'teardown.retain_for': 'keptFor',
  thread_id: 'thread',
};
const REPO_FIELDS: Readonly<Record<string, string>> = {
  branch: 'branch',
  from_branch: 'fromBranch',
};

/** The form's field that a problem document's `field` means; null where the form shows none. */
export function fieldOf(path: string | null, draft: WorkerDraft): string | null {
  const field = namedField(path ?? '', draft);
  return field === null || hides(draft, field) ? null : field;
}

/** Whether the form has no such field for the place of a draft. */
function hides(draft: WorkerDraft, field: string): boolean {
  if (['profile', 'keptFor'].includes(field)) return movesIn(draft);
  if (['region', 'isolation', 'cost'].includes(field)) return !isRouted(draft);
  return /^\d+\./.test(field) && !takesRepos(draft);
}

function namedField(named: string, draft: WorkerDraft): string | null {
  const repo = /^repos[.[](\d+)\]?\.?(.*)$/.exec(named);
  if (repo !== null) {
    const row = draft.repos[Number(repo[1])]?.row;
    return row === undefined ? null : `${row}.${REPO_FIELDS[repo[2] ?? ''] ?? 'url'}`;
  }
  if (named.startsWith('selection.max_cost_per_hour')) return 'cost';
  return Object.hasOwn(FIELDS, named) ? (FIELDS[named] ?? null) : null;
}

/** The fields that stand under “More”. */
export const MORE_FIELDS: readonly string[] = ['thread', 'region', 'isolation', 'cost'];
