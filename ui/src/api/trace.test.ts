import { afterEach, describe, expect, it, vi } from 'vitest';

import { call, Problem } from './call';
import { traceHeaders } from './trace';

const PARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

function answering(response: Response): { sent: Headers[] } {
  const sent: Headers[] = [];
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/' });
  vi.stubGlobal('fetch', (_: URL, init: RequestInit) => {
    sent.push(new Headers(init.headers));
    return Promise.resolve(response.clone());
  });
  return { sent };
}

afterEach(() => vi.unstubAllGlobals());

describe('a call of the page', () => {
  it('begins a trace of its own', async () => {
    const { sent } = answering(new Response('{}'));
    await call('GET', 'v1/sandboxes');
    await call('GET', 'v1/sandboxes');
    const parents = sent.map((headers) => headers.get('traceparent'));
    expect(parents[0]).toMatch(PARENT);
    expect(parents[1]).toMatch(PARENT);
    expect(parents[0]).not.toBe(parents[1]);
    expect(traceHeaders().traceparent).toMatch(PARENT);
  });

  it('that was refused names its request', async () => {
    const body = JSON.stringify({ detail: 'It broke.', code: 'internal', request_id: 'req-1' });
    answering(new Response(body, { status: 500 }));
    const fault = await call('GET', 'v1/x').catch((problem: unknown) => problem);
    expect(fault).toBeInstanceOf(Problem);
    expect((fault as Problem).requestId).toBe('req-1');
  });
});
