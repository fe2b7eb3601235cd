/** What has become news since the last look: an agent needs its person, is done, or failed. Pure. */

import type { AgentStatus, InboxItem, Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { agentsOf } from './agents';

export type NewsReason =
  'needs_you' | 'done' | 'failed' | 'setup_failed' | 'pushed' | 'ends_soon' | 'mentioned';

export interface News {
  readonly reason: NewsReason;
  /** The sandbox, or the dashboard where `item` is one on it. */
  readonly sandboxId: string;
  readonly name: string;
  readonly item?: string;
}

/** What would be news, by what it is about; `mark` changes when it becomes news again. */
export type Seen = ReadonlyMap<string, News & { readonly mark: string }>;

/** The only sentences of a notification; the rest is the name of the sandbox or dashboard. */
export const SENTENCES = worded<Readonly<Record<NewsReason, string>>>(() => ({
  needs_you: t`An agent needs you.`,
  done: t`An agent is done.`,
  failed: t`An agent failed.`,
  setup_failed: t`Its set-up failed.`,
  pushed: t`A pushed branch waits for you.`,
  ends_soon: t`Its time is nearly over.`,
  mentioned: t`Somebody mentions you.`,
}));

const REASONS: Partial<Record<InboxItem['kind'], NewsReason>> = {
  end: 'ends_soon',
  push: 'pushed',
  setup: 'setup_failed',
  mention: 'mentioned',
  todo: 'mentioned',
};

/** More news of one sandbox in a minute are not told. */
const PER_MINUTE = 10;
const MINUTE_MS = 60_000;

export function seenOf(sandboxes: readonly Sandbox[], inbox: readonly InboxItem[]): Seen {
  const seen = new Map<string, News & { mark: string }>();
  for (const sandbox of sandboxes) {
    for (const { id, status } of agentsOf(sandbox)) {
      const reason = reasonOf(status.status);
      if (reason === null) continue;
      const { sandbox_id: sandboxId, name } = sandbox;
      seen.set(`${sandboxId} ${id}`, {
        reason,
        sandboxId,
        name,
        mark: `${reason} ${status.since}`,
      });
    }
  }
  for (const item of inbox) {
    // An agent's question is known by its status already.
    if (item.kind !== 'agent') seen.set(item.id, { ...newsOfItem(item), mark: item.kind });
  }
  return seen;
}

function newsOfItem({ kind, sandbox_id: sandbox, sandbox_name: name, place }: InboxItem): News {
  const reason = REASONS[kind] ?? 'needs_you';
  if (place == null) return { reason, sandboxId: sandbox ?? '', name: name ?? '' };
  const { dashboard_id: sandboxId, dashboard_name, item_id: item } = place;
  return { reason, sandboxId, name: dashboard_name, item };
}

function reasonOf(status: AgentStatus['status']): NewsReason | null {
  return status === 'needs_you' || status === 'done' || status === 'failed' ? status : null;
}

/** What is there now and was not before; one of a sandbox and reason is enough. */
export function newsOf(before: Seen, now: Seen): readonly News[] {
  const news = new Map<string, News>();
  for (const [key, { mark, ...one }] of now) {
    if (before.get(key)?.mark !== mark) news.set(`${one.sandboxId} ${one.reason}`, one);
  }
  return [...news.values()];
}

export type Times = Readonly<Record<string, readonly number[]>>;

/** The times after one more of `key` at `now`, or null when a minute had enough. */
export function admit(times: Times, key: string, now: number): Times | null {
  const recent = Object.entries(times)
    .map(([one, list]) => [one, list.filter((at) => at > now - MINUTE_MS)] as const)
    .filter(([, list]) => list.length > 0);
  const kept: Times = Object.fromEntries(recent);
  const own = kept[key] ?? [];
  return own.length >= PER_MINUTE ? null : { ...kept, [key]: [...own, now] };
}

/** A count as the title and the icon show it. It rises at most ten times a minute. */
export interface Badge {
  readonly count: number;
  readonly rises: Times;
}

export function badgeAfter(before: Badge, count: number, now: number): Badge {
  if (count <= before.count) return { ...before, count };
  const rises = admit(before.rises, 'badge', now);
  return rises === null ? before : { count, rises };
}
