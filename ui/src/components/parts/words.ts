/** Short words for things of the API. Pure. */

import type { Network, Sandbox, Schemas, Secret, Terminal } from '../../api/types';
import { t } from '../../language/t';

/** `owner/repo · branch` of the first repository; null when there is none. */
export function repoWords(sandbox: Sandbox): string | null {
  const repo = sandbox.repos[0];
  if (repo === undefined) return null;
  const words = [shortRepo(repo.repo_url), repo.branch].filter((part) => part !== '').join(' · ');
  if (words === '' || repo.from_branch === null) return words || null;
  return t`${words}, from ${repo.from_branch}`;
}

/** The last two parts of a repository's address, without `.git`. */
export function shortRepo(url: string): string {
  const parts = url
    .replace(/\.git$/, '')
    .split(/[/:]/)
    .filter((part) => part !== '');
  return parts.slice(-2).join('/');
}

/** What a terminal's tab says: its title, its name, else its program. */
export function terminalWords(terminal: Terminal, title: string): string {
  const program = terminal.argv[0]?.split('/').at(-1);
  // A name that a person gave takes precedence; else it is the program's, and the title says more.
  if (terminal.renamed) return terminal.name;
  return [title, terminal.title, terminal.name, program].find(Boolean) ?? 'terminal';
}

/** What an agent's tab says: its name first, as its title may be no more than its folder. */
export function agentWords(agent: string, terminal: Terminal, title: string): string {
  if (terminal.renamed) return terminal.name;
  const name = terminal.name || agent;
  const said = [title, terminal.title].find(Boolean) ?? '';
  const folder = terminal.cwd.split('/').at(-1);
  return ['', agent, name, folder].includes(said) ? name : `${name} · ${said}`;
}

/** How a program ended. */
export function exitWords(exit: Readonly<Record<string, unknown>> | null): string {
  const signal = exit?.['signal'];
  const code = exit?.['code'];
  if (typeof signal === 'string' || typeof signal === 'number') return t`ended by ${signal}`;
  return typeof code === 'number' ? t`exit ${code}` : 'ended';
}

/** A profile's id without its prefix. */
export function profileWords(id: string): string {
  return id.replace(/^profile\./, '');
}

/** A price, as `0.12 EUR`. */
export function costWords(cost: Schemas['HostCostView']): string {
  return `${cost.micros / 1_000_000} ${cost.currency}`;
}

/** Bytes in the unit a person would use. */
export function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = [t`KiB`, t`MiB`, t`GiB`, t`TiB`];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? ''}`;
}

/** What a secret is for, and what passes with it. */
export function purposeWords(secret: Secret): string {
  const { kind, provider, remote, env, extension } = secret;
  const or = (word: string | null, otherwise: string): string => word ?? otherwise;
  switch (kind) {
    case 'provider':
      return t`key of ${or(provider, t`a provider`)}`;
    case 'git':
      return t`git at ${or(remote, t`a remote`)}`;
    case 'forge':
      return t`pull requests at ${or(remote, t`a forge`)}`;
    case 'drive':
      return t`your Google Drive`;
    case 'extension':
      return t`key of ${or(extension, t`a vendor`)}`;
    case 'oauth':
      return t`login of an agent`;
    case 'env':
      return t`variable ${or(env, '')}`;
    case 'custom':
      return customWords(secret);
  }
}

function customWords({ hosts, headers }: Secret): string {
  const where = hosts.length > 0 ? t`for ${hosts.join(', ')}` : t`asks before each new host`;
  return headers.length > 0 ? t`${where} · lets headers pass: ${headers.join(', ')}` : where;
}

const FULL_PORTS = [80, 443, 22];

/** The ports that mode `full` opens: the usual ones (domain/network/egress.py) and the profile's. */
export function openPorts({ ports }: Pick<Network, 'ports'>): string {
  const more = ports.filter((port) => !FULL_PORTS.includes(port));
  const usual = t`ports ${FULL_PORTS.join(', ')}`;
  return more.length > 0 ? t`${usual} and, by the profile, ${more.join(', ')}` : usual;
}
