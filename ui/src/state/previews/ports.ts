/** Ports of sandboxes on which something listens, as the log reports them, and links to them. */

import { call } from '../../api/call';
import type { Envelope, Sandbox, Schemas } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../announce';
import { copyText } from '../clipboard';
import { Store } from '../store';

export type PreviewLink = Schemas['LinkView'];

/** By sandbox id; of sandboxes that were asked for or told of. */
export const ports = new Store<Readonly<Record<string, readonly number[]>>>({});

/** A sandbox that opens many ports says so once in this time. */
const QUIET_MS = 10_000;
const spokenAt = new Map<string, number>();

/** The list after a port was opened or closed, in order. Pure. */
export function withPort(list: readonly number[], port: number, open: boolean): readonly number[] {
  const others = list.filter((one) => one !== port);
  return open ? [...others, port].sort((a, b) => a - b) : others;
}

function portsAt(id: string): string {
  return `v1/sandboxes/${encodeURIComponent(id)}/ports`;
}

/** Asks inside, now. */
export async function loadPorts(id: string): Promise<void> {
  const answer = (await call('GET', portsAt(id))) as Schemas['PortListView'];
  ports.set((now) => ({ ...now, [id]: answer.ports.map(({ port }) => port) }));
}

/** Makes a link that opens a port in one browser, once. */
export function linkTo(id: string, port: number, path = '/'): Promise<PreviewLink> {
  return call('POST', `${portsAt(id)}/${port}/links`, { path }) as Promise<PreviewLink>;
}

/** Forgets what listened in a sandbox that does not run. */
export function forgetPorts(id: string): void {
  ports.set((now) => Object.fromEntries(Object.entries(now).filter(([one]) => one !== id)));
}

/** Opens a port in a tab of its own. */
export async function openPort(id: string, port: number, path = '/'): Promise<void> {
  // Opened before the answer is there: later the browser would take it for a pop-up.
  const tab = window.open('about:blank', '_blank');
  try {
    const { url } = await linkTo(id, port, path);
    if (tab === null) {
      notify(t`The browser did not open a tab: allow pop-ups of this page.`, 'bad');
      return;
    }
    tab.opener = null;
    tab.location.replace(url);
  } catch (reason) {
    tab?.close();
    notifyFailure(t`Port ${port} could not be opened`)(reason);
  }
}

/** Copies a link that is good for one use. */
export async function copyLink(id: string, port: number): Promise<void> {
  try {
    const { url, local_only: local } = await linkTo(id, port);
    await copyText(url);
    notify(
      local
        ? t`Copied. The link is good for one use, on this machine.`
        : t`Copied. The link is good for one use.`,
    );
  } catch (reason) {
    notifyFailure(t`No link could be copied`)(reason);
  }
}

/** Ends what is open of a port. */
export async function closePort(id: string, port: number): Promise<void> {
  try {
    await call('DELETE', `${portsAt(id)}/${port}/links`);
    notify(t`Pages and links of port ${port} end within seconds.`);
  } catch (reason) {
    notifyFailure(t`Port ${port} could not be closed`)(reason);
  }
}

const panes = new Map<string, Set<Element>>();

/** Tells of a sandbox's servers in a pane, while that is in view. Returns how to end that. */
export function showPortsIn(id: string, pane: Element): () => void {
  const known = panes.get(id) ?? new Set();
  panes.set(id, known.add(pane));
  return () => known.delete(pane);
}

function isShown(id: string): boolean {
  return [...(panes.get(id) ?? [])].some((pane) => pane.checkVisibility());
}

/** Keeps what the log says about a port, and tells of a server that began. */
export function hearPort(id: string, event: Envelope, list: readonly Sandbox[]): void {
  const { port } = event.payload;
  if (typeof port !== 'number') return;
  const opened = event.event_type === 'port.opened';
  ports.set((now) => ({ ...now, [id]: withPort(now[id] ?? [], port, opened) }));
  const last = spokenAt.get(id) ?? -QUIET_MS;
  if (!opened || isShown(id) || performance.now() - last < QUIET_MS) return;
  spokenAt.set(id, performance.now());
  const name = list.find((one) => one.sandbox_id === id)?.name ?? t`a sandbox`;
  notify(t`A server listens at port ${port} of ${name}.`, 'plain', {
    words: t`Open`,
    run: () => void openPort(id, port),
  });
}
