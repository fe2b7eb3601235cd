/** An agent at a terminal: its state in words, and what a person can do about it. */

import { useState, type ReactNode } from 'react';
import { api } from '../../api/client';
import type { Agent, AgentAction } from '../../api/types';
import { t, worded } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { useRights } from '../../state/team/useRights';
import type { AgentState } from '../../terminal/attach/party';
import { Confirm } from '../parts/Dialog';
import { Icon, type IconName } from '../parts/icons';

interface AgentBarProps {
  readonly sandboxId: string;
  readonly terminalId: string;
  readonly agent: AgentState;
  /** It works without a terminal. */
  readonly machine?: boolean;
  /** What else a person can set, beside the actions. */
  readonly children?: ReactNode;
}

const WORDS = worded<Readonly<Record<AgentAction, { words: string; icon: IconName }>>>(() => ({
  pause: { words: t`Pause`, icon: 'pause' },
  resume: { words: t`Resume`, icon: 'start' },
  interrupt: { words: t`Interrupt`, icon: 'interrupt' },
  stop: { words: t`Stop`, icon: 'stop' },
  unlock: { words: t`Type anyway`, icon: 'terminal' },
}));

export function AgentBar(props: AgentBarProps) {
  const { sandboxId, terminalId, agent, machine = false, children } = props;
  const { works, owns } = useRights(sandboxId);
  const [busy, setBusy] = useState(false);
  const [stopping, setStopping] = useState(false);

  async function act(action: AgentAction): Promise<void> {
    setBusy(true);
    try {
      await api.actOnAgent(sandboxId, terminalId, action);
    } catch (reason) {
      notifyFailure(t`${WORDS()[action].words} failed`)(reason);
    } finally {
      setBusy(false);
    }
  }

  const words = machine ? machineSentence(agent) : sentenceOf(agent, owns);
  return (
    <div className={`agent-bar agent-${moodOf(agent)}`}>
      <span className="agent-mark">
        <Icon name="agent" />
      </span>
      <span className="agent-words" role="status" title={words}>
        {words}
      </span>
      <span className="spring" />
      {children}
      {works &&
        actionsOf(agent, owns && !machine).map((action) => (
          <button
            key={action}
            type="button"
            className="button button-slim"
            title={WORDS()[action].words}
            disabled={busy}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => (action === 'stop' ? setStopping(true) : void act(action))}
          >
            <Icon name={WORDS()[action].icon} />
            <span className="agent-act">{WORDS()[action].words}</span>
          </button>
        ))}
      {stopping && (
        <Confirm
          title={t`Stop ${agent.agent}?`}
          action={t`Stop it`}
          danger
          onClose={() => setStopping(false)}
          onConfirm={() => void act('stop')}
        >
          <p>{t`The agent and everything it started will end. Its files and conversation stay.`}</p>
        </Confirm>
      )}
    </div>
  );
}

type Mood = 'working' | 'waiting' | 'paused' | 'stopped';

export function moodOf({ state, turn }: AgentState): Mood {
  return state === 'running' ? turn : state;
}

function sentenceOf(agent: AgentState, owns: boolean): string {
  switch (moodOf(agent)) {
    case 'working':
      return owns && !agent.strict
        ? t`Agent is running: ${agent.agent} works, what you type reaches it`
        : t`Agent is running: ${agent.agent} works, typing is off`;
    case 'waiting':
      return t`${agent.agent}: it is your turn`;
    case 'paused':
      return t`${agent.agent} is paused, typing is off`;
    case 'stopped':
      return t`${agent.agent} has stopped`;
  }
}

/** The state of a machine, as a terminal's agent has it. */
export function machineState({ agent, agent_state: state, turn }: Agent): AgentState {
  return { agent, state, turn, strict: false };
}

function machineSentence(agent: AgentState): string {
  const mood = moodOf(agent);
  if (mood === 'working') return t`${agent.agent} works`;
  return mood === 'paused' ? t`${agent.agent} is paused` : sentenceOf(agent, true);
}

/** What can be done about it; `unlocks`: its owner may lift the lock of a terminal. */
function actionsOf(agent: AgentState, unlocks: boolean): readonly AgentAction[] {
  const held = agent.strict && unlocks;
  switch (moodOf(agent)) {
    case 'working':
      return [...(held ? (['unlock'] as const) : []), 'interrupt', 'pause', 'stop'];
    case 'waiting':
      return ['pause', 'stop'];
    case 'paused':
      return ['resume', 'stop'];
    case 'stopped':
      return [];
  }
}
