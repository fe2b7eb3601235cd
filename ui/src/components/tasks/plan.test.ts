import { expect, test } from 'vitest';
import { EMPTY, lackOf } from './draft';
import { planWords } from './plan';

const OFFERS = { listed: true, agents: null, profiles: [], repositories: [] };

test('an agent in a sandbox that is there needs no words, and is one alone', () => {
  const draft = { ...EMPTY, within: true, agents: ['codex'], repo: 'url', url: 'o/r' };
  expect(lackOf(draft)).toBeNull();
  expect(lackOf({ ...draft, agents: [] })?.field).toBe('agents');
  expect(lackOf({ ...draft, agents: ['codex', 'pi'] })?.field).toBe('agents');
  expect(planWords(draft, OFFERS)).toBe(
    'codex in this dashboard’s sandbox · you tell it there what is to be done',
  );
  expect(planWords({ ...draft, prompt: 'Fix it' }, OFFERS)).toBe(
    'codex in this dashboard’s sandbox',
  );
});
