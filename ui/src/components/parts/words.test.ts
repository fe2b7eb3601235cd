import { describe, expect, it } from 'vitest';

import { agentWords, openPorts, purposeWords } from './words';
import type { Secret, Terminal } from '../../api/types';

const CUSTOM: Secret = {
  secret_id: 'sec_1',
  org_id: 'personal',
  owner: 'p_1',
  name: 'PAYMENTS',
  kind: 'custom',
  scope: 'person',
  version: 1,
  fingerprint: '0123456789abcdef',
  last4: '',
  provider: null,
  extension: null,
  base_url: null,
  slot: 'bearer',
  slot_name: 'Authorization',
  hosts: ['api.example.com'],
  headers: [],
  push: [],
  remote: null,
  forge: null,
  env: null,
  broker_protected: true,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
};

describe('what a secret is for', () => {
  it('names the forge whose pull requests it opens', () => {
    const remote = 'https://git.example.com';
    const forge: Secret = { ...CUSTOM, kind: 'forge', forge: 'gitea', remote };
    expect(purposeWords(forge)).toBe(`pull requests at ${remote}`);
  });

  it('names the headers that pass with it', () => {
    expect(purposeWords(CUSTOM)).toBe('for api.example.com');
    expect(purposeWords({ ...CUSTOM, headers: ['X-Region', 'X-Tenant'] })).toBe(
      'for api.example.com · lets headers pass: X-Region, X-Tenant',
    );
    expect(purposeWords({ ...CUSTOM, hosts: [], headers: ['X-A'] })).toBe(
      'asks before each new host · lets headers pass: X-A',
    );
    expect(purposeWords({ ...CUSTOM, kind: 'git', remote: null })).toBe('git at a remote');
    expect(purposeWords({ ...CUSTOM, kind: 'env', env: 'TOKEN' })).toBe('variable TOKEN');
    expect(purposeWords({ ...CUSTOM, kind: 'provider' })).toBe('key of a provider');
    expect(purposeWords({ ...CUSTOM, kind: 'oauth' })).toBe('login of an agent');
  });
});

describe('the open network', () => {
  it('names the usual ports and those of the profile, each once', () => {
    expect(openPorts({ ports: [] })).toBe('ports 80, 443, 22');
    expect(openPorts({ ports: [443, 8443, 5432] })).toBe(
      'ports 80, 443, 22 and, by the profile, 8443, 5432',
    );
  });
});

describe('the tab of an agent', () => {
  const terminal = { name: 'codex', title: 'workspace', cwd: '/workspace', renamed: false };
  const one = terminal as unknown as Terminal;
  it('names the agent, and what its title says beyond the folder', () => {
    expect(agentWords('codex', one, '')).toBe('codex');
    expect(agentWords('codex', one, 'Fix the login')).toBe('codex · Fix the login');
    expect(agentWords('codex', { ...one, name: 'codex-2' }, '')).toBe('codex-2');
    expect(agentWords('codex', { ...one, renamed: true, name: 'mine' }, 'x')).toBe('mine');
  });
});
