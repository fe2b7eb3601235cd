/** The calls that look across the nouns: search, usage, every sandbox, the audit log, the machine. */

import { call } from './call';
import { keyHeaders } from './page-key';
import { address } from './call';
import type { Envelope, Extension, Schemas } from './types';

export type Hit = Schemas['HitView'];
export type Overseen = Schemas['OverseenView'];
export type OverseenWorker = Schemas['OverseenWorkerView'];
export type WorkerBackend = Schemas['BackendHealthView'];
export type OverseenPage = Schemas['OverseenPageView'];
export type SortKey = Schemas['SortKey'];
export type Usage = Schemas['UsageView'];
export type UsagePoint = Schemas['UsagePointView'];
export type AuditEntry = Schemas['AuditEntryView'];
export type BoardCard = Schemas['DashboardView'];
export type Finding = Schemas['FindingView'];
export type Host = Schemas['HostView'];
export type HostKeys = Schemas['HostTrustView'];
export type PlaceHealth = Schemas['PlaceHealthView'];
export type Route = Schemas['RouteView'];

/** What to show of every sandbox, and in which order. */
export interface OverseenQuery {
  readonly text: string;
  readonly states: readonly Schemas['State'][];
  readonly owner: string;
  readonly sort: SortKey;
  readonly descending: boolean;
}

/** What to show of the audit log; empty says nothing. */
export interface AuditQuery {
  readonly actor: string;
  readonly kind: string;
  readonly stream: string;
  readonly since: string;
  readonly until: string;
}

/** More workers than somebody looks through. */
const MOST_PAGES = 10;

const at = (organization: string): string => `v1/organizations/${encodeURIComponent(organization)}`;

/** The parameters that say something. */
function filled(fields: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** The parameters of a filter. Days are the reader's own; `until` is the last of them. */
export function auditParameters({ since, until, ...rest }: AuditQuery): URLSearchParams {
  const from = since === '' ? '' : new Date(`${since}T00:00`).toISOString();
  const end = until === '' ? '' : new Date(`${until}T00:00`);
  if (end instanceof Date) end.setDate(end.getDate() + 1);
  return filled({ ...rest, since: from, until: end === '' ? '' : end.toISOString() });
}

export const overviewApi = {
  async search(text: string): Promise<readonly Hit[]> {
    const found = await call('GET', `v1/search?${filled({ q: text, limit: '20' }).toString()}`);
    return (found as Schemas['HitList']).hits;
  },
  usage: (organization: string, hours: number, bucket: string) =>
    call(
      'GET',
      `${at(organization)}/usage?hours=${hours}&bucket=${encodeURIComponent(bucket)}`,
    ) as Promise<Usage>,

  every(organization: string, query: OverseenQuery, offset: number, limit: number) {
    const { text, states, owner, sort, descending } = query;
    const asked = filled({ q: text, owner, sort, descending: String(descending) });
    for (const state of states) asked.append('state', state);
    asked.set('offset', String(offset));
    asked.set('limit', String(limit));
    return call(
      'GET',
      `${at(organization)}/sandboxes?${asked.toString()}`,
    ) as Promise<OverseenPage>;
  },
  end: (organization: string, sandbox: string, act: 'stop' | 'destroy') =>
    call(
      'POST',
      `${at(organization)}/sandboxes/${encodeURIComponent(sandbox)}/${act}`,
    ) as Promise<Overseen>,

  /** Every worker of an organization, without what its agent says. */
  async workers(organization: string): Promise<readonly OverseenWorker[]> {
    const all: OverseenWorker[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const asked: string = filled({ limit: '100', cursor: cursor ?? '' }).toString();
      const found = (await call(
        'GET',
        `${at(organization)}/workers?${asked}`,
      )) as Schemas['OverseenWorkerPage'];
      all.push(...found.workers);
      cursor = found.next;
      if (cursor === null) break;
    }
    return all;
  },

  /** Where an organization's workers run and were lost. */
  async backends(organization: string): Promise<readonly WorkerBackend[]> {
    const found = await call('GET', `${at(organization)}/workers/backends`);
    return (found as Schemas['BackendHealthList']).backends;
  },

  audit(query: AuditQuery, before: number | null): Promise<Schemas['AuditPage']> {
    const asked = auditParameters(query);
    if (before !== null) asked.set('before', String(before));
    return call('GET', `v1/audit?${asked.toString()}`) as Promise<Schemas['AuditPage']>;
  },
  /** The export, as a file to save. */
  async exportAudit(query: AuditQuery): Promise<Blob> {
    const path = `v1/audit/export?${auditParameters(query).toString()}`;
    const answer = await fetch(address(path), {
      credentials: 'same-origin',
      headers: keyHeaders(),
    });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return answer.blob();
  },

  /** The dashboards that this person sees, at most 100 of the newest. */
  async dashboards(): Promise<readonly BoardCard[]> {
    return ((await call('GET', 'v1/dashboards?limit=100')) as Schemas['DashboardList']).dashboards;
  },

  async extensions(): Promise<readonly Extension[]> {
    return ((await call('GET', 'v1/extensions')) as Schemas['ExtensionList']).extensions;
  },
  findings: () => call('GET', 'v1/extensions/findings') as Promise<Schemas['FindingList']>,

  async hosts(): Promise<readonly Host[]> {
    return ((await call('GET', 'v1/hosts')) as Schemas['HostList']).hosts;
  },
  drain: (host: string, act: 'drain' | 'undrain') =>
    call('POST', `v1/hosts/${encodeURIComponent(host)}/${act}`) as Promise<Host>,
  /** The pinned key of a host and those that it shows; the shown one that is named is pinned. */
  trust: (host: string, fingerprint?: string) =>
    call('POST', `v1/hosts/${encodeURIComponent(host)}/trust`, {
      fingerprint,
    }) as Promise<HostKeys>,
  async health(): Promise<readonly PlaceHealth[]> {
    return ((await call('GET', 'v1/routes/health')) as Schemas['PlaceHealthList']).places;
  },
  route: (id: string) => call('GET', `v1/routes/${encodeURIComponent(id)}`) as Promise<Route>,

  /** The newest events, oldest first. */
  async newestEvents(limit: number): Promise<readonly Envelope[]> {
    const page = await call('GET', `v1/events?latest=true&limit=${limit}`);
    return (page as { events: Envelope[] }).events;
  },
};
