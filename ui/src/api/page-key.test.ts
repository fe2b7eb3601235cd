import { afterEach, describe, expect, it, vi } from 'vitest';

import { keepKey, keyHeaders, keyProtocols } from './page-key';

const kept = new Map<string, string>();
const STORAGE = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, value: string) => void kept.set(name, value),
  removeItem: (name: string) => void kept.delete(name),
};

afterEach(() => {
  keepKey('person', null);
  keepKey('guest', null);
  kept.clear();
  vi.unstubAllGlobals();
});

describe('the page’s key', () => {
  it('is sent with calls and WebSockets once it is kept', () => {
    vi.stubGlobal('localStorage', STORAGE);
    expect(keyHeaders()).toEqual({});
    expect(keyProtocols()).toEqual([]);
    keepKey('person', 'p');
    keepKey('guest', 'g');
    expect(keyHeaders()).toEqual({ 'Atoll-Page-Key': 'p, g' });
    expect(keyProtocols()).toEqual(['atoll.page', 'atoll.key.p', 'atoll.key.g']);
  });

  it('is read anew, for another tab may have logged in', () => {
    vi.stubGlobal('localStorage', STORAGE);
    keepKey('person', 'old');
    kept.set('atoll.page-key', 'new');
    expect(keyHeaders()).toEqual({ 'Atoll-Page-Key': 'new' });
  });

  it('stays in memory where the storage is closed', () => {
    const closed = () => {
      throw new Error('closed');
    };
    vi.stubGlobal('localStorage', { getItem: closed, setItem: closed, removeItem: closed });
    keepKey('person', 'p');
    expect(keyHeaders()).toEqual({ 'Atoll-Page-Key': 'p' });
  });
});
