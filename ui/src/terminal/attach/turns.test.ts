import { describe, expect, it } from 'vitest';

import { parseFrame } from './frames';
import { everybody, interruptOf, lockOf, type Control, type Party } from './party';
import { controlActs, handoverWords, refusalWords, roleWords } from './turns';

const ANN: Party = { principal: 'person', name: 'Ann', client: 'a', role: 'owner' };
const TAB: Party = { ...ANN, client: 'a2' };
const BOB: Party = { principal: 'guest_b', name: 'Bob', client: 'b', role: 'controller' };
const EVE: Party = { principal: 'guest_e', name: 'Eve', client: 'e', role: 'viewer' };

function control(driver: Party | null, more: Partial<Control> = {}): Control {
  const watchers = [ANN, TAB, BOB, EVE].filter((party) => party !== driver);
  return { driver, epoch: 1, waiting: [], watchers, away: false, agent: null, ...more };
}

function seen(me: Party, now: Control) {
  const driver = now.driver?.client ?? null;
  return { phase: 'live' as const, control: now, me, drives: driver === me.client, driver };
}

describe('what may be done about control', () => {
  it('follows role and turn', () => {
    expect(controlActs(seen(ANN, control(ANN)))).toEqual(['release']);
    expect(controlActs(seen(ANN, control(BOB)))).toEqual(['take', 'ask']);
    expect(controlActs(seen(TAB, control(ANN)))).toEqual(['take']);
    expect(controlActs(seen(BOB, control(ANN)))).toEqual(['ask']);
    expect(controlActs(seen(BOB, control(ANN, { waiting: [BOB] })))).toEqual(['withdraw']);
    expect(controlActs(seen(BOB, control(null)))).toEqual(['ask']);
    expect(controlActs(seen(EVE, control(null)))).toEqual([]);
    expect(controlActs(seen(ANN, control(ANN, { watchers: [] })))).toEqual([]);
  });

  it('never offers an owner who waits to withdraw, which would take control', () => {
    expect(controlActs(seen(ANN, control(BOB, { waiting: [ANN] })))).toEqual(['take']);
  });

  it('is nothing while disconnected', () => {
    expect(controlActs({ ...seen(ANN, control(BOB)), phase: 'waiting' })).toEqual([]);
  });
});

describe('words', () => {
  it('say who drives', () => {
    expect(roleWords(seen(ANN, control(ANN)))).toBe('You drive');
    expect(roleWords(seen(ANN, control(BOB)))).toBe('Watching: Bob drives');
    expect(roleWords(seen(ANN, control(BOB, { away: true })))).toBe('Watching: Bob is away');
    expect(roleWords(seen(TAB, control(ANN)))).toBe('Watching: you drive elsewhere');
    expect(roleWords(seen(BOB, control(null)))).toContain('Nobody drives');
    expect(roleWords(seen(EVE, control(null)))).toBe('Watching');
  });

  it('say aloud that control went to another', () => {
    const mine = seen(ANN, control(ANN));
    expect(handoverWords(seen(ANN, control(BOB)), mine)).toBe('You drive now.');
    expect(handoverWords(mine, seen(ANN, control(BOB)))).toBe('Bob drives now.');
    expect(handoverWords(mine, seen(ANN, control(null)))).toBe('You no longer drive; nobody does.');
    expect(handoverWords(seen(EVE, control(BOB)), seen(EVE, control(null)))).toBe('Nobody drives.');
    expect(handoverWords(seen(ANN, control(BOB)), seen(ANN, control(TAB)))).toBe(
      'You drive elsewhere.',
    );
  });

  it('say nothing aloud that is not new', () => {
    const mine = seen(ANN, control(ANN));
    expect(handoverWords(mine, { ...mine })).toBeNull();
    expect(handoverWords({ ...mine, phase: 'connecting' }, seen(ANN, control(BOB)))).toBeNull();
    expect(handoverWords({ ...mine, control: null }, mine)).toBeNull();
    const asked = seen(EVE, control(BOB, { waiting: [ANN] }));
    expect(handoverWords(seen(EVE, control(BOB)), asked)).toBeNull();
  });

  it('name the driver when keys were refused', () => {
    expect(refusalWords('not_driver', 'somebody else', control(BOB))).toContain('Bob drives');
    expect(refusalWords('input_full', 'full', control(BOB))).toBe('full');
  });
});

describe('frames about people', () => {
  it('are read from whatever comes', () => {
    const text = JSON.stringify({ type: 'control_state', driver: { client: 'x' }, watchers: [3] });
    const frame = parseFrame(text);
    expect(frame?.type === 'control' && frame.control.driver).toMatchObject({
      name: 'somebody',
      role: 'viewer',
    });
    expect(parseFrame('{"type":"recording","on":true,"by":"Ann"}')).toEqual({
      type: 'recording',
      recording: { on: true, by: 'Ann' },
    });
  });

  it('put everybody down once, the driver first', () => {
    const all = everybody(control(BOB, { watchers: [ANN, BOB, EVE] }));
    expect(all.map(({ client }) => client)).toEqual(['b', 'a', 'e']);
  });

  it('tell when an agent locks the keys', () => {
    const agent = { agent: 'codex', state: 'running', turn: 'working', strict: false } as const;
    expect(lockOf(agent, false)).toBe('agent_running');
    expect(lockOf(agent, true)).toBeNull();
    expect(lockOf({ ...agent, strict: true }, true)).toBe('agent_running');
    expect(lockOf({ ...agent, turn: 'waiting' }, false)).toBeNull();
    expect(lockOf({ ...agent, state: 'paused' }, true)).toBe('agent_paused');
    expect(lockOf({ ...agent, state: 'stopped' }, false)).toBeNull();
    expect(lockOf(null, false)).toBeNull();
  });

  it('let Esc and Ctrl-C of any driver through to an agent that works', () => {
    const agent = { agent: 'codex', state: 'running', turn: 'working', strict: true } as const;
    const plain = { ctrlKey: false, altKey: false, metaKey: false, shiftKey: false };
    const escape = interruptOf({ ...plain, key: 'Escape' });
    const copy = interruptOf({ ...plain, key: 'c', ctrlKey: true });
    expect(lockOf(agent, false, escape)).toBeNull();
    expect(lockOf(agent, false, copy)).toBeNull();
    expect(lockOf({ ...agent, state: 'paused' }, true, escape)).toBe('agent_paused');
    expect(interruptOf({ ...plain, key: 'c' })).toBeNull();
    expect(interruptOf({ ...plain, key: 'Escape', shiftKey: true })).toBeNull();
    expect(lockOf(agent, true, 'ls\r')).toBe('agent_running');
  });
});
