/** The calls about dashboards, and what they answer. */

import { call } from '../../api/call';
import type { Schemas } from '../../api/types';
import { t, worded } from '../../language/t';
import { dashboardAt } from '../sync/session';
import type { Role } from '../sync/wire';

export type Dashboard = Schemas['DashboardView'];
/** Who has which role: a person's id or `group:<name>`. */
export type Access = Schemas['DashboardPersonView'];
/** A link by which anybody may look; `MadeLink` has the link itself, which is shown once. */
export type ViewerLink = Schemas['DashboardShareView'];
export type MadeLink = Schemas['DashboardShareMadeView'];
export type Comment = Schemas['DashboardCommentView'];
export type HistoryEntry = Schemas['HistoryEntryView'];
export type OpenedTerminal = Schemas['DashboardTerminalView'];
export type StartedAgent = Schemas['DashboardAgentView'];

/** The templates that the server seeds. */
export const TEMPLATES = worded<
  readonly {
    readonly id: string;
    readonly words: string;
    readonly note: string;
  }[]
>(() => [
  { id: 'blank', words: t`Blank`, note: t`An empty canvas.` },
  {
    id: 'agent-and-notes',
    words: t`Agent and notes`,
    note: t`Room for an agent, notes and todos.`,
  },
  { id: 'review', words: t`Review`, note: t`Frames to go through work together.` },
]);

const ROOT = 'v1/dashboards';

/** One page after the other. */
async function pages<T>(path: string, key: string, most = 20): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < most; page += 1) {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const found = (await call('GET', `${path}?limit=100${query}`)) as Record<string, unknown>;
    const list = found[key];
    if (Array.isArray(list)) all.push(...(list as T[]));
    cursor = typeof found['next'] === 'string' ? found['next'] : null;
    if (cursor === null) break;
  }
  return all;
}

export const dashboardsApi = {
  list: () => pages<Dashboard>(ROOT, 'dashboards'),
  get: (id: string) => call('GET', dashboardAt(id)) as Promise<Dashboard>,
  create: (body: { name: string; scope?: Dashboard['scope']; template?: string }) =>
    call('POST', ROOT, body) as Promise<Dashboard>,
  change: (id: string, body: { name?: string; scope?: Dashboard['scope'] }) =>
    call('PATCH', dashboardAt(id), body) as Promise<Dashboard>,
  remove: (id: string) => call('DELETE', dashboardAt(id)),
  restore: (id: string) => call('POST', `${dashboardAt(id)}/restore`) as Promise<Dashboard>,
  copy: (id: string, name: string) =>
    call('POST', `${dashboardAt(id)}/copy`, { name }) as Promise<Dashboard>,

  people: async (id: string): Promise<readonly Access[]> => {
    const found = await call('GET', `${dashboardAt(id)}/people`);
    return (found as { people: readonly Access[] }).people;
  },
  setPerson: (id: string, subject: string, role: Role) =>
    call('PUT', `${dashboardAt(id)}/people/${encodeURIComponent(subject)}`, { role }),
  removePerson: (id: string, subject: string) =>
    call('DELETE', `${dashboardAt(id)}/people/${encodeURIComponent(subject)}`),

  links: async (id: string): Promise<readonly ViewerLink[]> => {
    const found = await call('GET', `${dashboardAt(id)}/shares`);
    return (found as Schemas['DashboardShareList']).shares;
  },
  makeLink: (id: string, body: Schemas['DashboardShareBody']) =>
    call('POST', `${dashboardAt(id)}/shares`, body) as Promise<MadeLink>,
  revokeLink: (id: string, link: string) =>
    call('DELETE', `${dashboardAt(id)}/shares/${encodeURIComponent(link)}`),

  openTerminal: (id: string, body: { agent?: string; cols?: number; rows?: number }) =>
    call('POST', `${dashboardAt(id)}/terminals`, body) as Promise<OpenedTerminal>,
  startAgent: (id: string, agent: string) =>
    call('POST', `${dashboardAt(id)}/agents`, { agent }) as Promise<StartedAgent>,
  linkSandbox: (id: string, sandbox: string) =>
    call('POST', `${dashboardAt(id)}/sandboxes/${encodeURIComponent(sandbox)}`),

  comments: (id: string) => pages<Comment>(`${dashboardAt(id)}/comments`, 'comments'),
  comment: (id: string, body: { item_id: string; text: string; mentions: readonly string[] }) =>
    call('POST', `${dashboardAt(id)}/comments`, body) as Promise<Comment>,
  resolve: (id: string, comment: string, resolved: boolean) =>
    call('PATCH', `${dashboardAt(id)}/comments/${encodeURIComponent(comment)}`, { resolved }),
  removeComment: (id: string, comment: string) =>
    call('DELETE', `${dashboardAt(id)}/comments/${encodeURIComponent(comment)}`),

  /** The newest changes. */
  history: async (id: string): Promise<readonly HistoryEntry[]> => {
    const found = await call('GET', `${dashboardAt(id)}/history?limit=200`);
    return (found as { entries: readonly HistoryEntry[] }).entries;
  },
  then: async (id: string, seq: number): Promise<readonly Record<string, unknown>[]> => {
    const found = await call('GET', `${dashboardAt(id)}/history/${seq}`);
    return (found as { items: readonly Record<string, unknown>[] }).items;
  },
};
