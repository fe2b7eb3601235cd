/** How a sandbox's work stands, and the one act that it wants. Pure. */

import type { Sandbox, Schemas } from '../api/types';
import { t, worded } from '../language/t';
import { actsOf, isLive } from './acts';
import { leadOf, longestNeedy, statusWords } from './attention/agents';

type Kind = Schemas['WorkState'];
/** What colour and weight say of it. */
export type Tone = 'calm' | 'working' | 'needs' | 'review' | 'bad' | 'done';

export interface Standing {
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
  archived: 'calm',
};

/** The words of a sandbox's own states that matter more than its work. */
const OWN = worded<Readonly<Partial<Record<Sandbox['state'], Standing>>>>(() => ({
  requested: { words: t`Starting`, tone: 'working' },
  provisioning: { words: t`Starting`, tone: 'working' },
  stopped: { words: t`Stopped`, tone: 'calm' },
  expired: { words: t`Expired`, tone: 'bad' },
  failed: { words: t`Failed`, tone: 'bad' },
  destroying: { words: t`Destroying`, tone: 'calm' },
  destroyed: { words: t`Destroyed`, tone: 'calm' },
}));

/** The state in one word; a sandbox that only runs has its own. */
export function standingOf(sandbox: Sandbox): Standing {
  const { work, state } = sandbox;
  const own = OWN()[state];
  const settled = work !== null && !['working', 'needs_you', 'queued'].includes(work.state);
  if (own !== undefined && !(state === 'stopped' && settled)) return own;
  if (work !== null) return { words: workWords()[work.state], tone: TONES[work.state] };
  const lead = leadOf(sandbox);
  if (lead === null) return { words: state === 'active' ? t`Active` : t`Ready`, tone: 'calm' };
  const { status } = lead.status;
  const tones = { working: 'working', needs_you: 'needs', failed: 'bad', done: 'done' } as const;
  const tone = status === 'idle' || status === 'stopped' ? 'calm' : tones[status];
  return { words: statusWords()[status], tone };
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

export type NextAct = 'answer' | 'resolve' | 'review' | 'merge' | 'start';

/** The one act that the state wants; null where there is nothing to do but wait. */
export function nextAct(sandbox: Sandbox): NextAct | null {
  const stands = sandbox.work?.state;
  if (actsOf(sandbox).includes('start'))
    return stands === 'merged' || stands === 'pr_merged' ? null : 'start';
  if (!isLive(sandbox)) return null;
  if (longestNeedy(sandbox) !== null) return 'answer';
  return stands === undefined ? null : (ACTS[stands] ?? null);
}

const ACTS: Readonly<Partial<Record<Kind, NextAct>>> = {
  in_conflict: 'resolve',
  to_review: 'review',
  reviewed: 'merge',
};
