/** A new worker: what is sent of a draft, what is asked for first, and where an error stands. */

import { describe, expect, it } from 'vitest';
import type { Repository } from '../../api/types';
import { bodyOf, fieldOf, lackOf, NEW_WORKER, type WorkerDraft } from './draft';

const KNOWN = [{ key: 'k1', name: 'demo', repo_url: '' }] as unknown as readonly Repository[];
const draft = (more: Partial<WorkerDraft>): WorkerDraft => ({
  ...NEW_WORKER,
  name: ' docs ',
  ...more,
});
const repo = (row: number, more = {}) => ({
  ...{ row, known: '', url: ' https://git.example/o/r ', branch: '', fromBranch: ' main ' },
  ...more,
});
const body = (more: Partial<WorkerDraft>) => bodyOf(draft(more), KNOWN);

describe('the body of a create', () => {
  it('says only what was chosen', () => {
    expect(body({})).toEqual({
      ...{ worker_id: 'docs', agent: 'codex', permissions: 'ask' },
      teardown: { policy: 'retain' },
    });
  });

  it('has the repositories, those by address and those that are here', () => {
    expect(
      body({ repos: [repo(1), repo(2, { known: 'k1', url: '', branch: 'fix' })] }).repos,
    ).toEqual([
      { repo_url: 'https://git.example/o/r', branch: null, from_branch: 'main', key: null },
      { repo_url: 'local/demo', branch: 'fix', from_branch: 'main', key: 'k1' },
    ]);
  });

  it('has the place, and never what that place has by itself', () => {
    const chosen = { repos: [repo(1)], profile: 'profile.python', region: 'eu', cost: '0.12 eur' };
    const routed = body({ ...chosen, place: 'sandbox' });
    expect(routed).toMatchObject({ execution_mode: 'sandbox', profile: 'profile.python' });
    expect(routed.selection).toEqual({
      region: 'eu',
      max_cost_per_hour: { amount: '0.12', currency: 'EUR' },
    });
    const linked = body({ ...chosen, place: 'desktop' });
    expect(linked).toMatchObject({ execution_mode: 'desktop', profile: 'profile.python' });
    expect([linked.repos, linked.selection]).toEqual([undefined, undefined]);
    const named = body({ ...chosen, place: 'on:docker' });
    expect([named.backend, named.selection, named.repos?.length]).toEqual(['docker', undefined, 1]);
    const moved = body({ ...chosen, place: 'in:sb_1' });
    expect(moved.workspace_ref).toBe('sandbox:sb_1/workspace');
    expect([moved.repos, moved.selection, moved.profile]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('keeps a worker for as long as is said, and one that is removed for no time', () => {
    expect(body({ keptFor: ' 90m ' }).teardown).toEqual({ policy: 'retain', retain_for: '90m' });
    expect(body({ keptFor: '90m', teardown: 'immediate' }).teardown).toEqual({
      policy: 'immediate',
    });
  });
});

it('what a place hides is neither sent nor named by an error', () => {
  const moved = draft({ keptFor: 'soon', place: 'in:sb_1', teardown: 'immediate' });
  expect(bodyOf(moved, KNOWN).teardown).toBeUndefined();
  const hidden = ['teardown.retain_for', 'profile', 'repos', 'repos[0].branch', 'selection.region'];
  for (const path of hidden) expect(fieldOf(path, moved)).toBeNull();
  const named = draft({ place: 'on:docker' });
  expect(fieldOf('selection.max_cost_per_hour.amount', named)).toBeNull();
  expect(fieldOf('profile', named)).toBe('profile');
});

describe('what a draft lacks', () => {
  const lack = (more: Partial<WorkerDraft>) =>
    lackOf(draft(more), new Set(['taken']))?.field ?? null;

  it('is a name that nothing has yet', () => {
    expect(lack({})).toBeNull();
    for (const name of ['', '  ', '-a', 'ä', 'a b', 'x'.repeat(65), 'taken']) {
      expect(lack({ name })).toBe('name');
    }
  });

  it('is the address of a repository, where that counts', () => {
    expect(lack({ repos: [repo(1), repo(4, { url: ' ' })] })).toBe('4.url');
    expect(lack({ repos: [repo(4, { url: '' })], place: 'desktop' })).toBeNull();
    expect(lack({ repos: [repo(4, { url: '', known: 'k1' })] })).toBeNull();
  });

  it('is a price that can be read', () => {
    expect(lack({ cost: '0.12' })).toBe('cost');
    expect(lack({ cost: '0.12 EUR' })).toBeNull();
    expect(lack({ cost: 'x', place: 'on:docker' })).toBeNull();
  });
});

it('an error stands at the field that it is about', () => {
  const two = draft({ repos: [repo(3), repo(7)] });
  const expected: readonly [string | null, string | null][] = [
    ['worker_id', 'name'],
    ['backend', 'place'],
    ['selection', 'place'],
    ['workspace_ref', 'place'],
    ['selection.region', 'region'],
    ['selection.max_cost_per_hour.amount', 'cost'],
    ['teardown.retain_for', 'keptFor'],
    ['repos[1].from_branch', '7.fromBranch'],
    ['repos.0.branch', '3.branch'],
    ['repos.1.repo_url', '7.url'],
    ['repos.0', '3.url'],
    ['repos[9].branch', null],
    ['constructor', null],
    [null, null],
  ];
  for (const [path, field] of expected) expect([path, fieldOf(path, two)]).toEqual([path, field]);
});
