import { afterEach, expect, test, vi } from 'vitest';
import type { CreateSandbox, Project } from '../../api/types';
import { projectQuestion, withProject, type Decision } from './project';

const calls = vi.hoisted(() => vi.fn<(...words: readonly unknown[]) => Promise<unknown>>());
vi.mock('../../api/call', () => ({ call: calls }));
vi.mock('../announce', () => ({ notify: vi.fn() }));

const DIGEST = 'd'.repeat(64);
const BODY = { profile: 'shell', repos: [{ key: 'k', branch: 'b' }] } as CreateSandbox;

function project(part: Partial<Project>): Project {
  return {
    repository: 'k',
    commit: 'c',
    file: '.atoll.yaml',
    digest: DIGEST,
    decision: null,
    undecided: true,
    proposals: [{ kind: 'setup', text: 'make' }],
    changes: { added: [], removed: [] },
    agent: null,
    profile: null,
    ignored: [],
    problem: null,
    ...part,
  };
}

/** Answers the next question. */
function answering(decision: Decision): void {
  const stop = projectQuestion.subscribe(() => {
    stop();
    projectQuestion.get()?.answer(decision);
  });
}

afterEach(() => {
  calls.mockReset();
});

test('a request without a repository asks nothing', async () => {
  expect(await withProject({ profile: 'shell' })).toEqual({ profile: 'shell' });
  expect(calls).not.toHaveBeenCalled();
});

test('an approved project goes along without a question', async () => {
  calls.mockResolvedValueOnce(project({ decision: 'approved', undecided: false }));
  expect(await withProject(BODY)).toEqual({ ...BODY, project: { digest: DIGEST, setup: 'now' } });
});

test.each(['declined', 'later'] as const)('one that is %s does not go along', async (decision) => {
  calls.mockResolvedValueOnce(project({})).mockResolvedValueOnce(null);
  answering(decision);
  expect(await withProject(BODY)).toEqual(BODY);
  expect(calls).toHaveBeenCalledTimes(decision === 'later' ? 1 : 2);
});

test('a decision sends back the digest of what was shown', async () => {
  calls.mockResolvedValueOnce(project({})).mockResolvedValueOnce(null);
  answering('approved');
  expect((await withProject(BODY)).project).toEqual({ digest: DIGEST, setup: 'now' });
  expect(calls).toHaveBeenLastCalledWith('POST', 'v1/projects/decision', {
    repository: { key: 'k', branch: 'b' },
    shown: DIGEST,
    decision: 'approved',
  });
});

test('a file with a problem, or one that cannot be read, is not used', async () => {
  calls.mockResolvedValueOnce(project({ problem: 'bad', undecided: false, proposals: [] }));
  expect(await withProject(BODY)).toEqual(BODY);
  calls.mockRejectedValueOnce(new Error('gone'));
  expect(await withProject(BODY)).toEqual(BODY);
});
