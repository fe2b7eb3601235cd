/** What a dashboard's socket carries: y-protocols in binary frames, JSON in text frames. Pure. */

import * as decoding from 'lib0/decoding';
import * as encoding from 'lib0/encoding';
import * as awareness from 'y-protocols/awareness';
import * as sync from 'y-protocols/sync';
import type * as Y from 'yjs';

const SYNC = 0;
const AWARENESS = 1;
const QUERY_AWARENESS = 3;

export type Role = 'owner' | 'editor' | 'viewer';
const ROLES: readonly Role[] = ['owner', 'editor', 'viewer'];

/** A person who may be assigned, mentioned and followed. */
export interface Person {
  readonly id: string;
  readonly name: string;
}

export type Frame =
  | { readonly type: 'welcome'; readonly role: Role; readonly people: readonly Person[] }
  | { readonly type: 'refused'; readonly code: string; readonly message: string }
  | { readonly type: 'role'; readonly role: Role }
  | { readonly type: 'renamed'; readonly name: string }
  | { readonly type: 'saved' }
  | { readonly type: 'heartbeat'; readonly everyMs: number };

/** Reads a text frame; null for one that this page does not know. */
export function readFrame(text: string): Frame | null {
  const said = parsed(text);
  if (said === null) return null;
  const role = ROLES.find((one) => one === said['role']) ?? 'viewer';
  switch (said['type']) {
    case 'welcome':
      return { type: 'welcome', role, people: peopleOf(said['people']) };
    case 'role':
      return { type: 'role', role };
    case 'refused':
      return { type: 'refused', code: wordOf(said['code']), message: wordOf(said['message']) };
    case 'renamed':
      return { type: 'renamed', name: wordOf(said['name']) };
    case 'saved':
      return { type: 'saved' };
    case 'heartbeat': {
      const { every_ms: every } = said;
      return { type: 'heartbeat', everyMs: typeof every === 'number' ? every : 0 };
    }
    default:
      return null;
  }
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function peopleOf(value: unknown): readonly Person[] {
  if (!Array.isArray(value)) return [];
  return value
    .map((one: unknown) => {
      const { id, name } = (one ?? {}) as Record<string, unknown>;
      return { id: wordOf(id), name: wordOf(name) || wordOf(id) };
    })
    .filter(({ id }) => id !== '');
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Asks for what this document lacks. */
export function askFrame(doc: Y.Doc): Uint8Array {
  return framed(SYNC, (encoder) => sync.writeSyncStep1(encoder, doc));
}

export function updateFrame(update: Uint8Array): Uint8Array {
  return framed(SYNC, (encoder) => sync.writeUpdate(encoder, update));
}

export function awarenessFrame(
  states: awareness.Awareness,
  clients: readonly number[],
): Uint8Array {
  return framed(AWARENESS, (encoder) =>
    encoding.writeVarUint8Array(encoder, awareness.encodeAwarenessUpdate(states, [...clients])),
  );
}

function framed(kind: number, write: (encoder: encoding.Encoder) => void): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, kind);
  write(encoder);
  return encoding.toUint8Array(encoder);
}

export interface Received {
  /** What is to be sent back, if anything. */
  readonly answer: Uint8Array | null;
  /** The document has now what the other side has. */
  readonly complete: boolean;
}

/** Applies a binary frame to the document or to what is known of others. */
export function receive(
  bytes: Uint8Array,
  doc: Y.Doc,
  states: awareness.Awareness,
  origin: unknown,
): Received {
  const decoder = decoding.createDecoder(bytes);
  const kind = decoding.readVarUint(decoder);
  if (kind === AWARENESS) {
    awareness.applyAwarenessUpdate(states, decoding.readVarUint8Array(decoder), origin);
    return { answer: null, complete: false };
  }
  if (kind === QUERY_AWARENESS) {
    return { answer: awarenessFrame(states, [doc.clientID]), complete: false };
  }
  if (kind !== SYNC) return { answer: null, complete: false };
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, SYNC);
  const step = sync.readSyncMessage(decoder, encoder, doc, origin);
  const answer = encoding.length(encoder) > 1 ? encoding.toUint8Array(encoder) : null;
  return { answer, complete: step === sync.messageYjsSyncStep2 };
}
