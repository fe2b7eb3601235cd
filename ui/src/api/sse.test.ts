import { describe, expect, it } from 'vitest';

import { SseParser } from './sse';

describe('server-sent events', () => {
  it('are put together over any cut', () => {
    const wire = 'id: 7\nevent: sandbox.ready\ndata: {"a":\ndata: 1}\n\n: ping\n\ndata: b\r\n\r\n';
    for (let cut = 0; cut <= wire.length; cut += 1) {
      const parser = new SseParser();
      const events = [...parser.feed(wire.slice(0, cut)), ...parser.feed(wire.slice(cut))];
      expect(events).toEqual([
        { id: '7', event: 'sandbox.ready', data: '{"a":\n1}' },
        { id: '7', event: 'message', data: 'b' },
      ]);
    }
  });

  it('without data are dropped, and their name with them', () => {
    expect(new SseParser().feed('event: x\n\ndata: y\n\n')).toEqual([
      { id: null, event: 'message', data: 'y' },
    ]);
  });
});
