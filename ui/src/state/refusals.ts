/** What sandboxes were refused at the egress door, newest first, as the log records it. */

import { api } from '../api/client';
import type { Envelope } from '../api/types';
import { Store } from './store';
import { t } from '../language/t';

export interface Refusal {
  /** Empty for refusals too many to list apart: `detail` names the last of them. */
  readonly host: string;
  readonly port: number;
  readonly detail: string;
  readonly at: string;
  readonly times: number;
}

const KEPT = 50;
/** Of an old log only so much is read. */
const PAGES = 20;

/** By sandbox id. */
export const refusals = new Store<Readonly<Record<string, readonly Refusal[]>>>({});
const read = new Set<string>();

/** Adds an event; the same destination again only counts, as does what one event sums up. Pure. */
export function withRefusal(list: readonly Refusal[], event: Envelope): readonly Refusal[] {
  const { times } = event.payload;
  const what = refusedOf(event);
  if (what === null) return list;
  const before = list.find((one) => one.host === what.host && one.port === what.port);
  const refusal: Refusal = {
    ...what,
    at: event.at,
    times: (before?.times ?? 0) + (typeof times === 'number' ? times : 1),
  };
  return [refusal, ...list.filter((one) => one !== before)].slice(0, KEPT);
}

function refusedOf({ payload }: Envelope): Pick<Refusal, 'host' | 'port' | 'detail'> | null {
  const { host, port, detail, code, last } = payload;
  if (code === 'various') {
    const newest = (last as { readonly host?: unknown } | undefined)?.host;
    return { host: '', port: 0, detail: typeof newest === 'string' ? t`last ${newest}` : '' };
  }
  if (typeof host !== 'string' || host === '' || typeof port !== 'number') return null;
  return { host, port, detail: typeof detail === 'string' ? detail : '' };
}

export function hearRefusal(id: string, event: Envelope): void {
  refusals.set((now) => ({ ...now, [id]: withRefusal(now[id] ?? [], event) }));
}

/** Reads those of before this page was there, once. */
export async function loadRefusals(id: string): Promise<void> {
  if (read.has(id)) return;
  read.add(id);
  try {
    await readLog(id);
  } catch (reason) {
    read.delete(id);
    throw reason;
  }
}

async function readLog(id: string): Promise<void> {
  let found: readonly Refusal[] = [];
  let after = 0;
  for (let page = 0; page < PAGES; page += 1) {
    const { events, next } = await api.events(id, after);
    for (const event of events) {
      if (event.event_type === 'door.refused') found = withRefusal(found, event);
    }
    if (events.length === 0) break;
    after = next;
  }
  refusals.set((now) => ({ ...now, [id]: found }));
}
