import * as decoding from 'lib0/decoding';
import { Awareness } from 'y-protocols/awareness';
import * as Y from 'yjs';
import { describe, expect, it } from 'vitest';

import { wordsOf } from '../document/rich';
import type { Timers } from '../../terminal/attach/alarm';
import { Connection, type DocumentSocket, type DocumentStatus } from './connection';
import { askFrame, readFrame, receive, updateFrame } from './wire';

/** A clock that moves when the test says so. */
class Clock implements Timers {
  #now = 0;
  #next = 1;
  readonly #due = new Map<number, { at: number; run: () => void }>();

  set(run: () => void, afterMs: number): number {
    this.#due.set(this.#next, { at: this.#now + afterMs, run });
    return this.#next++;
  }

  clear(timer: number): void {
    this.#due.delete(timer);
  }

  now(): number {
    return this.#now;
  }

  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [first] = [...this.#due].sort(([, a], [, b]) => a.at - b.at);
      if (first === undefined || first[1].at > end) break;
      this.#due.delete(first[0]);
      this.#now = first[1].at;
      first[1].run();
    }
    this.#now = end;
  }
}

/** A server of one document, which keeps all it gets. */
class Server {
  readonly doc = new Y.Doc();
  readonly #states = new Awareness(this.doc);
  readonly sockets = new Set<Socket>();
  updates = 0;
  keeps = true;

  constructor() {
    this.doc.on('update', (update: Uint8Array, origin: unknown) => {
      for (const socket of this.sockets) if (socket !== origin) socket.hear(updateFrame(update));
    });
  }

  enter(socket: Socket): void {
    this.sockets.add(socket);
    socket.hear(JSON.stringify({ type: 'welcome', role: 'editor', people: [] }));
    socket.hear(askFrame(this.doc));
  }

  take(socket: Socket, data: string | Uint8Array): void {
    if (typeof data === 'string') return;
    if (decoding.readVarUint(decoding.createDecoder(data)) === 0) this.updates += 1;
    const { answer } = receive(data, this.doc, this.#states, socket);
    if (answer !== null) socket.hear(answer);
    // The server says so of each update, and of a page's whole answer.
    else if (this.keeps) socket.hear('{"type":"saved","seq":1}');
  }
}

class Socket implements DocumentSocket {
  binaryType = '';
  onmessage: DocumentSocket['onmessage'] = null;
  onclose: DocumentSocket['onclose'] = null;

  constructor(readonly server: Server) {}

  send(data: string | Uint8Array): void {
    this.server.take(this, data);
  }

  hear(data: string | Uint8Array): void {
    this.onmessage?.({ data: typeof data === 'string' ? data : data.slice().buffer });
  }

  close(): void {
    this.server.sockets.delete(this);
  }

  cut(code = 1006): void {
    this.server.sockets.delete(this);
    this.onclose?.({ code, reason: '' });
  }
}

class Peer {
  readonly doc = new Y.Doc();
  readonly awareness = new Awareness(this.doc);
  readonly statuses: DocumentStatus[] = [];
  readonly refused: string[] = [];
  readonly connection: Connection;
  socket: Socket | null = null;

  constructor(
    readonly server: Server,
    readonly clock: Clock,
  ) {
    this.connection = new Connection({
      doc: this.doc,
      awareness: this.awareness,
      connect: () => (this.socket = new Socket(server)),
      onStatus: (status) => this.statuses.push(status),
      onRefused: (code) => this.refused.push(code),
      onRenamed: () => undefined,
      timers: clock,
      random: () => 0.5,
    });
    this.connection.open();
  }

  /** The server takes the connection that is being made. */
  enter(): this {
    if (this.socket !== null) this.server.enter(this.socket);
    return this;
  }

  put(key: string, value: number): void {
    this.doc.getMap('items').set(key, value);
  }

  get items(): unknown {
    return this.doc.getMap('items').toJSON();
  }
}

function world(): { server: Server; clock: Clock; a: Peer; b: Peer } {
  const [server, clock] = [new Server(), new Clock()];
  return {
    server,
    clock,
    a: new Peer(server, clock).enter(),
    b: new Peer(server, clock).enter(),
  };
}

describe('a connection to a document', () => {
  it('carries edits both ways', () => {
    const { clock, a, b } = world();
    a.put('x', 1);
    b.put('y', 2);
    clock.pass(50);
    expect(a.items).toEqual({ x: 1, y: 2 });
    expect(b.items).toEqual(a.items);
    expect(a.connection.status).toMatchObject({ phase: 'live', loaded: true, role: 'editor' });
  });

  it('sends what is typed within a moment in one update', () => {
    const { server, clock, a } = world();
    const before = server.updates;
    for (let n = 0; n < 30; n += 1) a.put('x', n);
    clock.pass(50);
    expect(server.updates - before).toBe(1);
    expect(server.doc.getMap('items').toJSON()).toEqual({ x: 29 });
  });

  it('merges what was edited without it, and doubles nothing', () => {
    const { server, clock, a, b } = world();
    a.put('x', 1);
    clock.pass(50);
    a.socket?.cut();
    a.doc.getText('t').insert(0, 'mine ');
    b.doc.getText('t').insert(0, 'theirs ');
    clock.pass(50);
    expect(a.connection.status.phase).toBe('waiting');
    clock.pass(300);
    a.enter();
    clock.pass(50);
    expect(wordsOf(a.doc.getText('t'))).toBe(wordsOf(b.doc.getText('t')));
    expect(wordsOf(a.doc.getText('t'))).toHaveLength('mine theirs '.length);
    expect(server.sockets.size).toBe(2);
  });

  it('says what is not saved yet', () => {
    const { server, clock, a } = world();
    expect(a.connection.status.saved).toBe(true);
    a.put('x', 1);
    expect(a.connection.status.saved).toBe(false);
    clock.pass(50);
    expect(a.connection.status.saved).toBe(true);
    server.keeps = false;
    a.put('x', 2);
    clock.pass(50);
    a.put('x', 3);
    clock.pass(50);
    const kept = '{"type":"saved","seq":1}';
    a.socket?.hear(kept);
    expect(a.connection.status.saved).toBe(false);
    a.socket?.hear(kept);
    expect(a.connection.status.saved).toBe(true);
  });

  it('reports what the server refuses, and its role', () => {
    const { a } = world();
    a.socket?.hear('{"type":"refused","code":"forbidden","message":"no"}');
    a.socket?.hear('{"type":"role","role":"viewer"}');
    expect(a.refused).toEqual(['forbidden']);
    expect(a.connection.status.role).toBe('viewer');
  });

  it('ends where the way in has ended, and waits where it is only cut', () => {
    const { clock, a, b } = world();
    a.socket?.cut(4404);
    b.socket?.cut();
    const [gone, cut] = [a.socket, b.socket];
    clock.pass(60_000);
    expect(a.connection.status).toMatchObject({ phase: 'over', reason: 'This dashboard is gone.' });
    expect(a.socket).toBe(gone);
    expect(b.socket).not.toBe(cut);
  });

  it('shows where others are, and forgets them when it is cut', () => {
    const { server, clock, a, b } = world();
    a.awareness.setLocalStateField('cursor', { x: 1, y: 2 });
    clock.pass(60);
    // This server keeps the states for itself: one frame is played to the other.
    const frame = a.socket?.server === server ? a.awareness.getLocalState() : null;
    b.awareness.states.set(a.doc.clientID, { cursor: { x: 1, y: 2 } });
    expect(frame).toMatchObject({ cursor: { x: 1, y: 2 } });
    b.socket?.cut();
    expect(b.awareness.getStates().has(a.doc.clientID)).toBe(false);
  });
});

describe('frames', () => {
  it('of anything else are none', () => {
    for (const bad of ['', '[]', 'null', '3', '{"type":"x"}']) expect(readFrame(bad)).toBeNull();
    expect(readFrame('{"type":"welcome","role":"king","people":[{"id":"p"},3]}')).toEqual({
      type: 'welcome',
      role: 'viewer',
      people: [{ id: 'p', name: 'p' }],
    });
  });
});
