/** People at a terminal and events there, read from its text frames. Pure. */

import { fieldsOf, whole, word, type Fields } from '../../api/fields';

/** One client and the person or guest behind it. */
export interface Party {
  readonly principal: string;
  readonly name: string;
  readonly client: string;
  readonly role: 'viewer' | 'controller' | 'owner';
}

/** Control of one terminal: a lease, those who wait for it, and those who watch. */
export interface Control {
  readonly driver: Party | null;
  readonly epoch: number;
  readonly waiting: readonly Party[];
  readonly watchers: readonly Party[];
  /** The driver's connection is gone and its grace runs. */
  readonly away: boolean;
  /** The agent that has control until it yields. */
  readonly agent: string | null;
}

/** An agent at this terminal. */
export interface AgentState {
  readonly agent: string;
  readonly state: 'running' | 'paused' | 'stopped';
  readonly turn: 'working' | 'waiting';
  /** Its owner, too, is kept from typing while it works. */
  readonly strict: boolean;
}

const ESC = '\u001b';
const CTRL_C = '\u0003';
/** Keys that break off what an agent does. */
const INTERRUPTS = [ESC, CTRL_C];

/** Whether what happens here is being written down, and by whose wish. */
export interface Recording {
  readonly on: boolean;
  readonly by: string;
}

/** A line that somebody at the terminal said. */
export interface TalkLine {
  readonly number: number;
  readonly principal: string;
  readonly name: string;
  readonly text: string;
}

/** The newest lines, and the client that said the last one just now; empty for older ones. */
export interface Talk {
  readonly lines: readonly TalkLine[];
  readonly by: string;
}

export const SILENCE: Talk = { lines: [], by: '' };

const ROLES = ['viewer', 'controller', 'owner'] as const;

export function controlOf(fields: Fields): Control {
  return {
    driver: partyOf(fields['driver']),
    epoch: whole(fields['epoch']),
    waiting: partiesOf(fields['waiting']),
    watchers: partiesOf(fields['watchers']),
    away: fields['away'] === true,
    agent: typeof fields['agent'] === 'string' ? fields['agent'] : null,
  };
}

export function agentOf(fields: Fields): AgentState {
  const state = fields['agent_state'];
  return {
    agent: word(fields['agent']) || 'agent',
    state: state === 'paused' || state === 'stopped' ? state : 'running',
    turn: fields['turn'] === 'working' ? 'working' : 'waiting',
    strict: fields['softlock'] === 'strict',
  };
}

export function recordingOf(fields: Fields): Recording {
  const { by } = fields;
  return { on: fields['on'] === true, by: word(fieldsOf(by)?.['name'] ?? by) };
}

export function talkOf(fields: Fields): Talk {
  const { lines } = fields;
  return { lines: Array.isArray(lines) ? lines.map(lineOf) : [], by: word(fields['by']) };
}

function lineOf(value: unknown): TalkLine {
  const { number, principal, name, text } = fieldsOf(value) ?? {};
  return {
    number: whole(number),
    principal: word(principal),
    name: word(name) || 'somebody',
    text: word(text),
  };
}

const HUES = 6;

/** One of a few hues, always the same for the same person. */
export function hueOf(text: string): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9973;
  return sum % HUES;
}

/** Everybody at the terminal once, the driver first. */
export function everybody({ driver, watchers }: Control): readonly Party[] {
  const others = watchers.filter(({ client }) => client !== driver?.client);
  return driver === null ? others : [driver, ...others];
}

/** Why keys are refused before they are sent, or null when they may be tried. While the agent
 *  works, its owner types on unless the lock is strict, and Esc and Ctrl-C of any driver pass. */
export function lockOf(
  agent: AgentState | null,
  owner: boolean,
  keys: string | null = null,
): 'agent_running' | 'agent_paused' | null {
  if (agent?.state === 'paused') return 'agent_paused';
  if (agent?.state !== 'running' || agent.turn !== 'working') return null;
  const passes = (owner && !agent.strict) || (keys !== null && INTERRUPTS.includes(keys));
  return passes ? null : 'agent_running';
}

/** The interrupt a key means, or null for any other key. */
export function interruptOf({
  key,
  ctrlKey,
  altKey,
  metaKey,
  shiftKey,
}: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey' | 'shiftKey'>): string | null {
  if (altKey || metaKey || shiftKey) return null;
  if (key === 'Escape' && !ctrlKey) return ESC;
  return key.toLowerCase() === 'c' && ctrlKey ? CTRL_C : null;
}

function partiesOf(value: unknown): readonly Party[] {
  if (!Array.isArray(value)) return [];
  return value.map(partyOf).filter((party) => party !== null);
}

function partyOf(value: unknown): Party | null {
  const { principal, name, client, role } = fieldsOf(value) ?? {};
  if (typeof client !== 'string') return null;
  return {
    principal: word(principal),
    name: word(name) || word(principal) || 'somebody',
    client,
    role: ROLES.find((known) => known === role) ?? 'viewer',
  };
}
