/** How a sandbox's work stands, as a shape and a word; colour only repeats what they say. */

import type { Sandbox } from '../../api/types';
import { aboutWork, standingOf, type Tone } from '../../state/standing';

const RING = 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z';

const shapes: Readonly<Record<Tone, string>> = {
  calm: RING,
  working: 'M8 3a5 5 0 1 1-5 5',
  needs: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 3v3.6M8 11v.01',
  review: `${RING}M8 6.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2Z`,
  bad: 'M8 2.5 14 13H2Zm0 4v3M8 11.3v.01',
  done: `${RING}m-2.2 5.2 1.6 1.6 3-3.4`,
  off: 'M4 4h8v8H4Z',
};

export function StandingShape({ tone }: { readonly tone: Tone }) {
  return (
    <svg className={`shape tone-${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[tone]} />
    </svg>
  );
}

export function StandingMark({ sandbox }: { readonly sandbox: Sandbox }) {
  const { words, tone } = standingOf(sandbox);
  return (
    <span className={`state tone-${tone}`}>
      <StandingShape tone={tone} />
      {words}
    </span>
  );
}

/** The state on a ground of its colour, in a place as wide as the longest, so that nothing moves. */
export function StandingPill({ sandbox }: { readonly sandbox: Sandbox }) {
  const { words, tone } = standingOf(sandbox);
  return (
    <span className="standing-place">
      <span className={`standing standing-${tone}`} data-state={sandbox.state}>
        {words}
      </span>
    </span>
  );
}

interface AboutProps {
  readonly sandbox: Sandbox;
  /** Whose status it may be: the agent's name stands before it. */
  readonly agent: string | null;
}

/** `codex: npm test`, in one line that is cut where it does not fit. */
export function StandingAbout({ sandbox, agent }: AboutProps) {
  const about = aboutWork(sandbox);
  const words = [agent, about].filter((one) => one !== null && one !== '').join(': ');
  return (
    <span className="agent-about" title={words}>
      {words}
    </span>
  );
}
