/** What an agent does: a shape and a word, and what it is about; colour only repeats them. */

import type { AgentStatus, SandboxAgent } from '../../api/types';
import { aboutOf, statusWords } from '../../state/attention/agents';

const shapes: Readonly<Record<AgentStatus['status'], string>> = {
  needs_you: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 3v3.6M8 11v.01',
  working: 'M8 3a5 5 0 1 1-5 5',
  done: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Zm-2.2 5.2 1.6 1.6 3-3.4',
  idle: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  stopped: 'M4 4h8v8H4Z',
  failed: 'M8 2.5 14 13H2Zm0 4v3M8 11.3v.01',
};

export function AgentShape({ status }: { readonly status: AgentStatus['status'] }) {
  return (
    <svg className={`shape does-${status}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[status]} />
    </svg>
  );
}

export function AgentMark({ agent }: { readonly agent: SandboxAgent }) {
  const { status } = agent.status;
  return (
    <span className={`state does-${status}`} data-status={status}>
      <AgentShape status={status} />
      {statusWords()[status]}
    </span>
  );
}

/** `codex: npm test`, in one line that is cut where it does not fit. */
export function AgentAbout({ agent }: { readonly agent: SandboxAgent }) {
  const about = aboutOf(agent);
  const words = about === '' ? agent.agent : `${agent.agent}: ${about}`;
  return (
    <span className="agent-about" title={words}>
      {words}
    </span>
  );
}
