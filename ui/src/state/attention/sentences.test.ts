/** What a push says: one of a few sentences, in a language that the page kept. */

import { describe, expect, it, vi } from 'vitest';
import { reasonOf, SENTENCES, sentenceOf } from '../../worker/sentences';
import { SENTENCES as OF_THE_PAGE } from './push';

vi.hoisted(() => {
  vi.stubGlobal('location', { hash: '', origin: 'http://localhost' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
});

describe('the sentences of pushes', () => {
  it('are the same in the page and in the worker', () => {
    expect(OF_THE_PAGE()).toEqual(SENTENCES);
  });

  it.each([undefined, null, 7, '', 'toString', '__proto__', 'constructor', 'rm -rf /'])(
    'are none of what a push says itself: %s',
    (told) => {
      expect(sentenceOf(reasonOf(told), null)).toBe('Something is new.');
    },
  );

  it('are those that were kept, where they were kept whole', () => {
    const kept = { done: 'Ein Agent ist fertig.', failed: 7 };
    expect(sentenceOf(reasonOf('done'), kept)).toBe('Ein Agent ist fertig.');
    expect(sentenceOf(reasonOf('failed'), kept)).toBe('An agent failed.');
    expect(sentenceOf(reasonOf('pushed'), kept)).toBe('A pushed branch waits for you.');
    expect(sentenceOf(reasonOf('done'), 'no object')).toBe('An agent is done.');
  });
});
