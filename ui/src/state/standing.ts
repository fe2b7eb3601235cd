/** How a sandbox's work stands, and the one act that it wants. Pure. */

import type { Sandbox, Schemas } from '../api/types';
import { plural, t, worded } from '../language/t';
import { actsOf, isLive } from './acts';
import {
  aboutOf,
  agentsOf,
  changeWords,
  leadOf,
  longestNeedy,
  needsYou,
  statusWords,
} from './attention/agents';

type Kind = Schemas['WorkState'];
/** What colour and weight say of it. */
export type Tone = 'calm' | 'working' | 'needs' | 'review' | 'bad' | 'done' | 'off';

export interface Standing {
  /** The state itself: of the sandbox, of its work or of its agent. */
  readonly state: string;
  readonly words: string;
  readonly tone: Tone;
}

export const workWords = worded<Readonly<Record<Kind, string>>>(() => ({
  queued: t`Queued`,
  working: t`Working`,
  needs_you: t`Needs you`,
  to_review: t`To review`,
  in_conflict: t`In conflict`,
  reviewed: t`Reviewed`,
  merged: t`Merged`,
  pr_open: t`PR open`,
  pr_merged: t`PR merged`,
  archived: t`Archived`,
}));

const TONES: Readonly<Record<Kind, Tone>> = {
  queued: 'calm',
  working: 'working',
  needs_you: 'needs',
  to_review: 'review',
  in_conflict: 'bad',
  reviewed: 'done',
  merged: 'done',
  pr_open: 'review',
  pr_merged: 'done',
  archived: 'off',
};

type Mark = Omit<Standing, 'state'>;

/** The words of a sandbox's own states that matter more than its work. */
const OWN = worded<Readonly<Partial<Record<Sandbox['state'], Mark>>>>(() => ({
  requested: { words: t`Starting`, tone: 'working' },
  provisioning: { words: t`Starting`, tone: 'working' },
  stopped: { words: t`Stopped`, tone: 'off' },
  expired: { words: t`Expired`, tone: 'bad' },
  failed: { words: t`Failed`, tone: 'bad' },
  destroying: { words: t`Destroying`, tone: 'off' },
  destroyed: { words: t`Destroyed`, tone: 'off' },
}));

/** A sandbox that sleeps: whoever uses it wakes it. */
const ASLEEP = worded<Mark>(() => ({ words: t`Asleep`, tone: 'off' }));

/** States that agents leave by themselves. */
const UNDER_WAY: readonly Kind[] = ['working', 'needs_you', 'queued'];

/** The state of its work; null where there is none. What agents report is newer than the state that
 *  the server derives from it. */
export function workStateOf(sandbox: Sandbox): Kind | null {
  const derived = sandbox.work?.state ?? null;
  if (derived === null || derived === 'archived' || !isLive(sandbox)) return derived;
  if (needsYou(sandbox)) return 'needs_you';
  const works = agentsOf(sandbox).some(({ status }) => status.status === 'working');
  return works && !UNDER_WAY.includes(derived) ? 'working' : derived;
}

/** The state in one word; a sandbox that only runs has its own. */
export function standingOf(sandbox: Sandbox): Standing {
  const { state } = sandbox;
  const work = workStateOf(sandbox);
  const own = sandbox.asleep ? ASLEEP() : OWN()[state];
  const ownState = sandbox.asleep ? 'asleep' : state;
  const settled = work !== null && !UNDER_WAY.includes(work);
  if (own !== undefined && !(state === 'stopped' && settled)) {
    return { state: ownState, ...own };
  }
  if (work !== null) return { state: work, words: workWords()[work], tone: TONES[work] };
  const lead = leadOf(sandbox);
  if (lead === null) {
    return { state, words: state === 'active' ? t`Active` : t`Ready`, tone: 'calm' };
  }
  const { status } = lead.status;
  const tones = { working: 'working', needs_you: 'needs', failed: 'bad', done: 'done' } as const;
  const tone = status === 'idle' || status === 'stopped' ? 'calm' : tones[status];
  return { state: status, words: statusWords()[status], tone };
}

type Work = Schemas['WorkView'];

/** What states of settled work are about. */
const ABOUT: Readonly<Partial<Record<Kind, (work: Work) => string>>> = {
  in_conflict: conflictWords,
  to_review: changeWords,
  reviewed: changeWords,
  merged: ({ merge }) => (merge === null ? '' : t`into ${merge.into}`),
  pr_open: pullWords,
  pr_merged: pullWords,
};

/** What its state is about, in a line: the question, the last tool, what changed, where it went. */
export function aboutWork(sandbox: Sandbox): string {
  const { work } = sandbox;
  const stands = workStateOf(sandbox);
  if (stands === 'archived') return '';
  const about = work === null || stands === null ? '' : (ABOUT[stands]?.(work) ?? '');
  if (about !== '' || !isLive(sandbox)) return about;
  const lead = leadOf(sandbox);
  return lead === null ? '' : aboutOf(lead);
}

function pullWords({ pull }: Work): string {
  return pull === null ? '' : t`#${pull.pull} into ${pull.base}`;
}

function conflictWords({ conflict }: Work): string {
  const files = conflict === null ? 0 : conflict.files.length + conflict.more;
  return files === 0 ? '' : plural(files, { one: '# file', other: '# files' });
}

/** Standings as a line says them, those that concern their person most first. */
const ORDER: readonly Tone[] = ['needs', 'bad', 'review', 'working', 'done', 'calm', 'off'];

/** How all of them stand, in a line: `1 needs you · 2 to review · 1 working`. */
export function sumOf(list: readonly Sandbox[]): string {
  const isBare = (one: Sandbox): boolean => workStateOf(one) === null && leadOf(one) === null;
  const stand = list.filter((one) => !isBare(one)).map(standingOf);
  const words = new Set(
    [...stand]
      .sort((a, b) => ORDER.indexOf(a.tone) - ORDER.indexOf(b.tone))
      .map((one) => one.words),
  );
  const counts = [...words].map((word) => {
    const same = stand.filter((one) => one.words === word);
    const times = same.length;
    const needs = times > 1 && same[0]?.state === 'needs_you';
    return `${times} ${needs ? t`need you` : lowered(word)}`;
  });
  const bare = list.filter(isBare);
  const starting = bare.filter(({ agent }) => agent !== null).length;
  const more = [
    ...(starting > 0 ? [t`${starting} starting`] : []),
    ...(bare.length > starting ? [t`${bare.length - starting} without an agent`] : []),
  ];
  return [...counts, ...more].join(' · ');
}

/** Inside a line; what begins with two capitals keeps them. */
function lowered(word: string): string {
  return /^\p{Lu}\p{Lu}/u.test(word) ? word : word.toLowerCase();
}

/** Lines that the work adds and removes. */
export interface Counts {
  readonly plus: number;
  readonly minus: number;
}

/** Null where nothing differs, or nobody counted. */
export function countsOf(sandbox: Sandbox): Counts | null {
  const of = sandbox.work ?? leadOf(sandbox)?.status ?? null;
  const [plus, minus] = [of?.plus ?? 0, of?.minus ?? 0];
  return plus === 0 && minus === 0 ? null : { plus, minus };
}

export type NextAct = 'answer' | 'resolve' | 'review' | 'merge' | 'start' | 'archive' | 'revive';

/** The one act that the state wants; null where there is nothing to do but wait. */
export function nextAct(sandbox: Sandbox): NextAct | null {
  const stands = workStateOf(sandbox);
  const over = stands !== null && OVER.includes(stands);
  if (sandbox.archived_at != null) return 'revive';
  if (actsOf(sandbox).includes('start')) return over ? 'archive' : 'start';
  if (!isLive(sandbox)) return null;
  if (longestNeedy(sandbox) !== null) return 'answer';
  return stands === null ? null : (ACTS[stands] ?? null);
}

/** States from which the work itself goes nowhere. */
const OVER: readonly Kind[] = ['merged', 'pr_merged'];

const ACTS: Readonly<Partial<Record<Kind, NextAct>>> = {
  in_conflict: 'resolve',
  to_review: 'review',
  reviewed: 'merge',
  merged: 'archive',
  pr_merged: 'archive',
};
