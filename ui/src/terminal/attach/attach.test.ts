import { beforeEach, describe, expect, it } from 'vitest';

import { World } from './attach.world';

let world: World;
beforeEach(() => {
  world = new World();
  world.attachment.open();
});

describe('acknowledgements', () => {
  it('follow parsed bytes, never received ones', () => {
    world.socket.start(0);
    world.socket.bytes('x'.repeat(100_000));
    world.advance(1000);
    expect(world.socket.acks).toEqual([]);
    world.parse(3);
    expect(world.socket.acks.at(-1)).toBe(32_768);
  });

  it('come at least every 64 KiB during a flood', () => {
    world.socket.start(0);
    for (let i = 0; i < 40; i += 1) world.socket.bytes('x'.repeat(16_384));
    world.parse();
    const acks = world.socket.acks;
    for (let i = 1; i < acks.length; i += 1) {
      expect((acks[i] ?? 0) - (acks[i - 1] ?? 0)).toBeLessThanOrEqual(65_536);
    }
    expect(acks.at(-1)).toBe(40 * 16_384);
  });

  it('come when the screen is idle', () => {
    world.socket.start(0);
    world.parse();
    world.socket.bytes('hi');
    world.parse();
    expect(world.socket.acks).toEqual([]);
    world.advance(60);
    expect(world.socket.acks).toEqual([2]);
  });

  it('never name an offset from before the first byte of a terminal with history', () => {
    world.socket.start(70_000, { preamble: btoa('RESET') });
    expect(world.socket.acks).toEqual([]);
    world.socket.bytes('hi');
    world.advance(1000);
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([70_002]);
  });

  it('never go back behind where a new connection began', () => {
    world.socket.start(0);
    world.socket.bytes('x'.repeat(100_000));
    world.parse(2);
    world.socket.drop(1006);
    world.advance(250);
    expect(world.socket.query.get('since')).toBe('100000');
    world.socket.start(100_000);
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([]);
    world.socket.bytes('on');
    world.parse();
    world.advance(1000);
    expect(world.socket.acks).toEqual([100_002]);
  });
});

describe('a paste', () => {
  const frames = (): number[] =>
    world.socket.sent.filter((frame) => typeof frame !== 'string').map(({ length }) => length);

  it('goes out in frames, as far as the server takes it in', () => {
    world.socket.start(0, { input_window: 32_768 });
    expect(world.attachment.send('x'.repeat(100_000))).toBe(true);
    expect(frames()).toEqual([16_384, 16_384]);
    world.socket.text({ type: 'input_taken', bytes: 16_384 });
    expect(frames()).toHaveLength(3);
  });

  it('that is refused on its way is not typed on, and its rest is told of', () => {
    world.socket.start(0, { input_window: 32_768 });
    world.attachment.send('x'.repeat(100_000));
    world.socket.text({ type: 'input_refused', reason: 'not_driver', message: 'no' });
    world.socket.text({ type: 'input_taken', bytes: 32_768 });
    expect(frames()).toHaveLength(2);
    expect(world.refused).toEqual(['not_driver']);
    expect(world.dropped).toEqual([[67_232, 'refused']]);
  });

  it('that is cut off is not typed on the next connection, and is told of', () => {
    world.socket.start(0, { input_window: 32_768 });
    world.attachment.send('x'.repeat(100_000));
    world.socket.drop(1006);
    expect(world.dropped).toEqual([[100_000, 'cut']]);
    world.advance(250);
    world.socket.start(0, { input_window: 32_768 });
    expect(frames()).toEqual([]);
  });
});

describe('input', () => {
  const typed = (): string =>
    world.socket.sent
      .filter((frame) => typeof frame !== 'string')
      .map((frame) => new TextDecoder().decode(frame))
      .join('');

  it('is sent as bytes while live', () => {
    world.socket.start(0);
    expect(world.attachment.send('é')).toBe(true);
    expect(world.socket.sent.at(-1)).toEqual(new Uint8Array([0xc3, 0xa9]));
  });

  it('is refused, not queued, while disconnected', () => {
    world.socket.start(0);
    world.socket.drop(1006);
    expect(world.attachment.send('rm -rf /\r')).toBe(false);
    world.advance(250);
    world.socket.start(0);
    expect(world.socket.sent.filter((frame) => typeof frame !== 'string')).toEqual([]);
  });

  it('is kept while the terminal opens, and sent in order once it is there', () => {
    expect(world.attachment.send('ls')).toBe(true);
    expect(world.attachment.send('\r')).toBe(true);
    expect(world.socket.sent).toEqual([]);
    world.socket.start(0);
    world.attachment.send('x');
    expect(typed()).toBe('ls\rx');
    expect(world.dropped).toEqual([]);
  });

  it.each([
    ['is not reached', () => world.socket.drop(1006)],
    ['is gone', () => world.socket.drop(4404)],
    ['says nothing', () => world.advance(10_000)],
    ['is closed', () => world.attachment.dispose()],
    ['is not ours any more', () => world.attachment.revoke()],
  ])('that was kept is dropped and told of where the terminal %s', (_, end) => {
    world.attachment.send('rm -rf /\r');
    end();
    expect(world.dropped).toEqual([[9, 'unopened']]);
    world.advance(250);
    world.socket.start(0);
    expect(typed()).toBe('');
  });

  it('is kept up to a bound, whole or not at all', () => {
    world.attachment.send('echo ');
    expect(world.attachment.send('x'.repeat(4096))).toBe(false);
    expect(world.attachment.send('y\r')).toBe(false);
    world.socket.start(0);
    expect(typed()).toBe('');
    world.attachment.send('ls\r');
    expect(typed()).toBe('ls\r');
  });

  it('of a size is sent by the driver only, and only when it changes', () => {
    world.socket.start(0, { driver: 'other' });
    world.parse();
    world.attachment.resize(50, 20);
    world.socket.text({ type: 'driver', client: 'me' });
    world.attachment.resize(80, 24);
    world.attachment.resize(50, 20);
    const resizes = world.socket.sent.filter((f) => typeof f === 'string' && f.includes('resize'));
    expect(resizes).toEqual(['{"type":"resize","cols":50,"rows":20}']);
  });
});

describe('a turn', () => {
  it('is known by the name the server gave, asked for once, and refusals are told', () => {
    world.socket.start(0, { client: 'me-2', driver: 'me' });
    expect(world.attachment.status.drives).toBe(false);
    world.attachment.requestControl();
    expect(world.socket.sent).toContain('{"type":"request_control"}');
    world.socket.text({ type: 'input_refused', reason: 'not_driver', message: 'somebody drives' });
    expect(world.refused).toEqual(['not_driver']);
    world.socket.text({ type: 'driver', client: 'me-2' });
    expect(world.attachment.status.drives).toBe(true);
    const sent = world.socket.sent.length;
    world.attachment.requestControl();
    expect(world.socket.sent.length).toBe(sent);
  });
});

describe('answers to terminal queries', () => {
  it('are given by the driver only, and only while live', () => {
    expect(world.attachment.mayAnswer()).toBe(false);
    world.socket.start(0);
    expect(world.attachment.mayAnswer()).toBe(true);
    world.socket.text({ type: 'driver', client: 'other' });
    expect(world.attachment.mayAnswer()).toBe(false);
  });
});

describe('a refusal by the server', () => {
  it('is passed on and ends nothing', () => {
    world.socket.start(0);
    world.socket.text({ type: 'error', code: 'input_full', message: 'nobody reads' });
    expect(world.refused).toEqual(['input_full']);
    expect(world.phase).toBe('live');
  });
});
