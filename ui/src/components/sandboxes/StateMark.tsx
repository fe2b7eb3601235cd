/** A sandbox's state as a shape and a word; colour only repeats what they say. */

import type { SandboxState } from '../../api/types';
import { t, worded } from '../../language/t';

/** The words a person reads, by state. */
export const stateWords = worded<Readonly<Record<SandboxState, string>>>(() => ({
  requested: t`Requested`,
  provisioning: t`Provisioning`,
  ready: t`Ready`,
  active: t`Active`,
  stopped: t`Stopped`,
  expired: t`Expired`,
  failed: t`Failed`,
  destroying: t`Destroying`,
  destroyed: t`Destroyed`,
}));

const shapes: Readonly<Record<SandboxState, string>> = {
  requested: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  provisioning: 'M8 3a5 5 0 1 1-5 5',
  ready: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Zm-2.2 5.2 1.6 1.6 3-3.4',
  active: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  stopped: 'M4 4h8v8H4Z',
  expired: 'M4.5 3h7L8 8l3.5 5h-7L8 8Z',
  failed: 'M8 2.5 14 13H2Zm0 4v3M8 11.3v.01',
  destroying: 'M3.5 8h9',
  destroyed: 'M3.5 8h9',
};

export function StateShape({ state }: { readonly state: SandboxState }) {
  return (
    <svg className={`shape shape-${state}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[state]} />
    </svg>
  );
}

export function StateMark({ state }: { readonly state: SandboxState }) {
  return (
    <span className={`state state-${state}`} data-state={state}>
      <StateShape state={state} />
      {stateWords()[state]}
    </span>
  );
}
