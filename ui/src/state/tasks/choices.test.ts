import { beforeEach, expect, test, vi } from 'vitest';
import { choiceOf, forgetChoices, lastChoice, rememberChoice } from './choices';

const CHOICE = {
  ...{ agents: ['codex'], profile: '', mode: 'tui' as const, asks: false },
  ...{ network: '', ttl: '', maxWorking: '' },
};
const HERE = { repo: 'key:ab', url: '' };
const THERE = { repo: 'url', url: ' https://example.com/o/r ' };

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
});

test('each repository has its own last choice, and the newest is the last', () => {
  rememberChoice({ ...CHOICE, ...HERE });
  rememberChoice({ ...CHOICE, agents: ['pi', 'codex'], ...THERE });
  rememberChoice({ ...CHOICE, agents: ['pi'], ...HERE });
  expect(choiceOf(HERE)?.agents).toEqual(['pi']);
  expect(choiceOf({ ...THERE, url: THERE.url.trim() })?.agents).toEqual(['pi', 'codex']);
  expect(choiceOf({ repo: '', url: '' })).toBeNull();
  expect(lastChoice()?.source).toEqual(HERE);
  forgetChoices();
  expect(lastChoice()).toBeNull();
});

test('what cannot be read is as nothing', () => {
  localStorage.setItem('atoll.tasks', '{"a":');
  expect(lastChoice()).toBeNull();
  localStorage.setItem('atoll.tasks', '[1, {"choice": {"agents": [2, "pi"], "mode": "x"}}]');
  expect(lastChoice()).toMatchObject({
    source: { repo: '' },
    choice: { agents: ['pi'], mode: 'tui' },
  });
});
