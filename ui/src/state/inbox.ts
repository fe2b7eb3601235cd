/** Everything that waits for this person, the longest waiting first. */

import { api } from '../api/client';
import type { Approval, Sandbox, SandboxAgent } from '../api/types';
import { agentsOf } from './agents';
import { notifyFailure } from './announce';

export type InboxItem =
  | {
      readonly kind: 'approval';
      readonly id: string;
      readonly at: string;
      readonly sandboxId: string;
      readonly name: string;
      readonly approval: Approval;
    }
  | {
      readonly kind: 'agent';
      readonly id: string;
      readonly at: string;
      readonly sandboxId: string;
      readonly name: string;
      readonly agent: SandboxAgent;
    };

/** Joins approvals that wait for a decision and agents that wait for an answer. Pure. */
export function inboxOf(
  sandboxes: readonly Sandbox[],
  approvals: readonly Approval[],
): readonly InboxItem[] {
  const asked = approvals
    .filter(({ state }) => state === 'pending')
    .map((approval): InboxItem => ({
      kind: 'approval',
      id: approval.approval_id,
      at: approval.asked_at,
      sandboxId: approval.sandbox_id,
      name: approval.sandbox_name,
      approval,
    }));
  const agents = sandboxes.flatMap((sandbox) =>
    agentsOf(sandbox)
      .filter(({ status }) => status.status === 'needs_you')
      .map((agent): InboxItem => ({
        kind: 'agent',
        id: `${sandbox.sandbox_id} ${agent.id} ${agent.status.card} ${agent.status.since}`,
        at: agent.status.since,
        sandboxId: sandbox.sandbox_id,
        name: sandbox.name,
        agent,
      })),
  );
  return [...asked, ...agents].sort((a, b) => a.at.localeCompare(b.at) || a.id.localeCompare(b.id));
}

/** The id of the option that `y` or `n` chooses; null where the question has none of the kind. */
export function optionFor({ status }: SandboxAgent, effect: 'allow' | 'deny'): string | null {
  return status.options.find((one) => one.effect === effect)?.id ?? null;
}

/** Answers an agent's question by its protocol. */
export async function answerAgent(
  sandboxId: string,
  agent: SandboxAgent,
  body: { option?: string; text?: string },
): Promise<void> {
  try {
    await api.answer(sandboxId, agent.id, agent.status.card, body);
  } catch (reason) {
    notifyFailure('Not answered')(reason);
  }
}
