import { expect, test } from 'vitest';
import { bodiesOf, branchOf, EMPTY, lackOf } from '../draft';
import { issueAddress, sourceOf, wordsWith, type IssueTask } from './issues';

const ISSUE: IssueTask = {
  ...{ kind: 'issue', number: 12, title: 'Fix it', state: 'open', branch: 'fix-12' },
  ...{ url: 'https://f.example/o/r/issues/12', repo_url: 'https://f.example/o/r' },
  prompt: 'Fix it\n\nThis is issue 12.',
};

test.each([
  ['https://github.com/o/r/issues/12', true],
  [' https://github.com/o/r/pull/7/files#diff-1\n', true],
  ['https://git.example:3000/code/o/r/pulls/7?x=1', true],
  ['https://github.com/o/r', false],
  ['https://github.com/o/r/issues/0', false],
  ['https://github.com/issues/12', false],
  ['http://github.com/o/r/issues/12', false],
  ['see https://github.com/o/r/issues/12', false],
])('%s is an address of an issue: %s', (text, is) => {
  expect(issueAddress(text)).toBe(is ? text.trim() : null);
});

test('its repository is the one that is here, where there is one', () => {
  const here = { key: 'ab', name: 'r', repo_url: ISSUE.repo_url, bytes: 1 };
  expect(sourceOf(ISSUE, [here as never])).toEqual({ repo: 'key:ab', url: '' });
  expect(sourceOf(ISSUE, [])).toEqual({ repo: 'url', url: ISSUE.repo_url });
});

test('an issue is a task without further words, and goes with the request', () => {
  const draft = { ...EMPTY, ...sourceOf(ISSUE, []), agents: ['codex'], issue: ISSUE };
  expect(lackOf(draft)).toBeNull();
  const [body] = bodiesOf({ ...draft, branch: ISSUE.branch }, [], 'g');
  expect(body).toMatchObject({ prompt: ISSUE.prompt, task: { issue: ISSUE.url } });
  expect(body?.repos?.[0]).toMatchObject({ repo_url: ISSUE.repo_url, branch: 'fix-12' });
  expect(branchOf({ ...draft, branch: ISSUE.branch })).toBe('fix-12');
  expect(wordsWith(ISSUE, ' Tests only. ')).toBe(`Tests only.\n\n${ISSUE.prompt}`);
  expect(wordsWith(null, 'Fix')).toBe('Fix');
});
