/** Who is on a dashboard and what they do there, as read from the awareness of others. Pure. */

import { t } from '../../language/t';
import { hueOf } from '../../terminal/attach/party';
import type { Box } from '../document/items';
import type { Point } from '../document/geometry';

/** Items that somebody moves just now, and how far they are from their place. */
export interface Drag {
  readonly ids: readonly string[];
  readonly dx: number;
  readonly dy: number;
}

export interface Peer {
  readonly client: number;
  /** The person's id; a guest's is their own. */
  readonly id: string;
  readonly name: string;
  readonly hue: number;
  readonly cursor: Point | null;
  readonly selection: readonly string[];
  /** The part of the plane that they see. */
  readonly sees: Box | null;
  /** The item that their keyboard is in. */
  readonly inside: string | null;
  readonly drag: Drag | null;
}

/** What this page says of itself. */
export interface OwnState {
  readonly cursor: Point | null;
  readonly selection: readonly string[];
  readonly sees: Box | null;
  readonly inside: string | null;
  readonly drag: Drag | null;
}

/** A state must stay small: of more items than that, others see the first. */
export const MOST_IDS = 60;
const MAX_NAME = 64;

/** Reads the states of all clients but one's own. */
export function peersOf(states: ReadonlyMap<number, unknown>, own: number): readonly Peer[] {
  return [...states]
    .filter(([client]) => client !== own)
    .map(([client, state]) => peerOf(client, state))
    .filter((peer) => peer !== null)
    .sort((a, b) => a.name.localeCompare(b.name) || a.client - b.client);
}

function peerOf(client: number, state: unknown): Peer | null {
  const said = recordOf(state);
  if (said === null) return null;
  const user = recordOf(said['user']) ?? {};
  // eslint-disable-next-line words/written -- a key, which nobody reads
  const id = wordOf(user['id']) ?? `client ${client}`;
  const name = (wordOf(user['name']) ?? t`Somebody`).slice(0, MAX_NAME);
  return {
    client,
    id,
    name,
    hue: hueOf(id),
    cursor: pointOf(said['cursor']),
    selection: idsOf(said['selection']),
    sees: boxOf(said['sees']),
    inside: wordOf(said['inside']),
    drag: dragOf(said['drag']),
  };
}

function dragOf(value: unknown): Drag | null {
  const said = recordOf(value);
  const [dx, dy] = [numberOf(said?.['dx']), numberOf(said?.['dy'])];
  return dx === null || dy === null ? null : { ids: idsOf(said?.['ids']), dx, dy };
}

function pointOf(value: unknown): Point | null {
  const said = recordOf(value);
  const [x, y] = [numberOf(said?.['x']), numberOf(said?.['y'])];
  return x === null || y === null ? null : { x, y };
}

function boxOf(value: unknown): Box | null {
  const point = pointOf(value);
  const said = recordOf(value);
  const [w, h] = [numberOf(said?.['w']), numberOf(said?.['h'])];
  if (point === null || w === null || h === null || w <= 0 || h <= 0) return null;
  return { ...point, w, h };
}

function idsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => typeof one === 'string').slice(0, MOST_IDS);
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function recordOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}
