import { beforeEach, describe, expect, it } from 'vitest';

import { World } from './attach.world';

let world: World;
beforeEach(() => {
  world = new World();
  world.attachment.open();
});

describe('the first connection', () => {
  it('names the client and the wished size, and no offset', () => {
    expect(Object.fromEntries(world.socket.query)).toEqual({
      client: 'me',
      heartbeat: 'true',
      wake: 'false',
      cols: '100',
      rows: '30',
    });
  });

  it('writes the preamble first and does not count it', () => {
    world.socket.start(500, { preamble: btoa('RESET') });
    world.socket.bytes('abc');
    world.parse();
    expect(world.shown).toBe('RESETabc');
    expect(world.tapped).toEqual([[500, 3]]);
    world.advance(100);
    expect(world.socket.acks.at(-1)).toBe(503);
  });

  it('lets a size take effect between the bytes it came between', () => {
    world.socket.start(0);
    world.socket.bytes('wide');
    world.socket.text({ type: 'size', cols: 40, rows: 10 });
    world.socket.bytes('narrow');
    world.parse();
    expect(world.sizes).toEqual(['80x24@0', '40x10@4']);
  });

  it('is given up and tried again when the server stays silent', () => {
    world.advance(10_000);
    expect(world.phase).toBe('waiting');
    world.advance(250);
    expect(world.sockets).toHaveLength(2);
  });
});

describe('a network that goes away without a word', () => {
  it('is said within five seconds, and nothing is typed into it', () => {
    world.socket.start(0);
    world.socket.text({ type: 'heartbeat', every_ms: 2000 });
    for (let i = 0; i < 5; i += 1) world.advance(1_000);
    expect([world.phase, world.attachment.status.quiet]).toEqual(['live', true]);
    expect(world.attachment.send('x')).toBe(false);
    world.socket.bytes('only slow');
    expect(world.attachment.status.quiet).toBe(false);
    expect(world.attachment.send('x')).toBe(true);
    expect(world.sockets).toHaveLength(1);
  });

  it('is not said of a runtime whose heartbeats come every five seconds', () => {
    world.socket.start(0);
    for (let i = 0; i < 20; i += 1) {
      if (i % 5 === 0) world.socket.text({ type: 'heartbeat' });
      world.advance(1_000);
    }
    expect([world.phase, world.attachment.status.quiet]).toEqual(['live', false]);
  });

  it('is not said between heartbeats', () => {
    world.socket.start(0);
    for (let i = 0; i < 20; i += 1) {
      world.socket.text({ type: 'heartbeat', every_ms: 2000 });
      for (let j = 0; j < 4; j += 1) world.advance(500);
    }
    expect(world.statuses.some(({ quiet }) => quiet)).toBe(false);
  });

  it('lets a person connect anew at once', () => {
    world.socket.start(0);
    world.socket.text({ type: 'heartbeat', every_ms: 2000 });
    for (let i = 0; i < 5; i += 1) world.advance(1_000);
    world.attachment.wake(false);
    expect([world.phase, world.attachment.status.quiet]).toEqual(['connecting', false]);
    expect(world.sockets).toHaveLength(2);
  });

  it('is given up within twelve seconds, and the terminal comes back by itself', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    for (let i = 0; i < 4; i += 1) world.advance(3_000);
    expect(world.phase).toBe('waiting');
    expect(world.attachment.status.drives).toBe(false);
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('3');
    world.socket.start(3);
    expect(world.phase).toBe('live');
  });

  it('is not taken for a terminal that is silent: it has heartbeats', () => {
    world.socket.start(0);
    for (let i = 0; i < 60; i += 1) {
      world.advance(5_000);
      world.socket.text({ type: 'heartbeat' });
    }
    expect(world.phase).toBe('live');
    expect(world.sockets).toHaveLength(1);
  });

  it('is not taken for a page that was busy for a minute', () => {
    world.socket.start(0);
    world.advance(60_000);
    world.socket.text({ type: 'heartbeat' });
    world.advance(5_000);
    expect(world.phase).toBe('live');
  });
});

describe('resume', () => {
  it('continues at the next byte, with the same client id', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    world.socket.drop(1006);
    expect(world.phase).toBe('waiting');
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('3');
    expect(world.socket.query.get('client')).toBe('me');
    world.socket.start(3);
    world.socket.bytes('two');
    world.parse();
    expect(world.shown).toBe('onetwo');
    expect(world.attachment.status.resyncs).toBe(0);
  });

  it('starts afresh when told bytes are gone, and counts it', () => {
    world.socket.start(0);
    world.socket.bytes('one');
    world.socket.drop(1006);
    world.advance(250);
    world.socket.start(3);
    world.socket.text({ type: 'resync', from: 3, to: 9000, preamble: btoa('[R]') });
    world.socket.bytes('new');
    world.parse();
    world.advance(60);
    expect(world.shown).toBe('one[R]new');
    expect(world.attachment.status.resyncs).toBe(1);
    expect(world.socket.acks.at(-1)).toBe(9003);
  });

  it('backs off further with every failure and starts over after a success', () => {
    const waits = [];
    for (let i = 0; i < 12; i += 1) {
      world.socket.drop(1006);
      const wait = (world.attachment.status.retryAt ?? 0) - world.now;
      waits.push(wait);
      world.advance(wait);
    }
    expect(waits.slice(0, 5)).toEqual([250, 500, 1000, 1500, 1500]);
    expect(waits.slice(9)).toEqual([1500, 5000, 5000]);
    world.socket.start(0);
    world.socket.drop(1006);
    expect((world.attachment.status.retryAt ?? 0) - world.now).toBe(250);
  });

  it('is tried at once when the page wakes', () => {
    world.socket.start(0);
    world.socket.drop(1006);
    world.attachment.wake(false);
    expect(world.sockets).toHaveLength(2);
    world.advance(60_000);
    expect(world.sockets.filter((socket) => !socket.closed)).toHaveLength(0);
  });

  it('replaces a live connection only when it is suspect', () => {
    world.socket.start(0);
    world.attachment.wake(false);
    expect(world.sockets).toHaveLength(1);
    world.attachment.wake(true);
    expect(world.sockets).toHaveLength(2);
    expect(world.sockets[0]?.closed).toBe(true);
  });
});

describe('a screen that cannot keep up', () => {
  it('stops receiving before the write buffer overflows and resumes when drained', () => {
    world.socket.start(0);
    const chunk = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 9; i += 1) world.socket.bytes(chunk);
    expect(world.phase).toBe('waiting');
    expect(world.sockets[0]?.closed).toBe(true);
    world.parse();
    expect(world.sockets).toHaveLength(2);
    expect(world.socket.query.get('since')).toBe(String(9 * 1024 * 1024));
  });
});

describe('being superseded', () => {
  it('parks with no timer and comes back only when asked', () => {
    world.socket.start(0);
    world.socket.drop(4000);
    world.attachment.wake(true);
    world.advance(600_000);
    expect(world.phase).toBe('parked');
    expect(world.sockets).toHaveLength(1);
    world.attachment.takeBack();
    expect(world.sockets).toHaveLength(2);
  });
});

describe('the end', () => {
  it('is shown with its code and not reconnected', () => {
    world.socket.start(0);
    world.socket.text({ type: 'exit', code: 3, offset: 0 });
    world.socket.drop(1000);
    expect(world.phase).toBe('ended');
    expect(world.attachment.status.exit).toEqual({ kind: 'code', code: 3 });
    world.advance(60_000);
    world.attachment.wake(true);
    expect(world.sockets).toHaveLength(1);
  });

  it('of a terminal that is no longer there is told apart', () => {
    world.socket.drop(4404);
    expect(world.phase).toBe('gone');
  });

  it('of a sandbox that does not run is final too', () => {
    world.socket.start(0);
    world.socket.drop(4409);
    world.advance(60_000);
    expect([world.phase, world.sockets.length]).toEqual(['gone', 1]);
  });

  it('of the way in, heard elsewhere while disconnected, ends every further try', () => {
    world.socket.drop(1006);
    world.attachment.revoke();
    world.advance(60_000);
    expect([world.phase, world.sockets.length]).toEqual(['revoked', 1]);
  });

  it('leaves nothing running once disposed', () => {
    world.socket.start(0);
    world.socket.bytes('late');
    world.attachment.dispose();
    world.statuses = [];
    world.parse();
    world.advance(60_000);
    expect(world.sockets).toHaveLength(1);
    expect(world.socket.closed).toBe(true);
    expect(world.statuses).toEqual([]);
  });

  it('ignores frames it does not know', () => {
    world.socket.start(0);
    world.socket.text({ type: 'agent_state', agent_state: 'running' });
    world.socket.onmessage?.({ data: 'not json' });
    expect(world.phase).toBe('live');
  });
});
