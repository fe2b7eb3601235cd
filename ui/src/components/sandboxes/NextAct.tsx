/** The one act that a sandbox's state wants: a button, or nothing. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { perform } from '../../state/acts';
import { longestNeedy } from '../../state/attention/agents';
import { go } from '../../state/route';
import { countsOf, nextAct, type NextAct as Kind } from '../../state/standing';
import { doWork, merging, workActWords } from '../../state/work/acts';

interface NextActProps {
  readonly sandbox: Sandbox;
  readonly manages: boolean;
  readonly works: boolean;
}

/** Those that change the sandbox, which not everybody may. */
const OF_MANAGERS: readonly Kind[] = ['merge', 'start', 'resolve', 'archive', 'revive'];

export function NextAct({ sandbox, manages, works }: NextActProps) {
  const act = nextAct(sandbox);
  if (act === null || !works || (OF_MANAGERS.includes(act) && !manages)) return null;
  const { sandbox_id: id } = sandbox;
  const run: Readonly<Record<Kind, () => void>> = {
    answer: () => answer(sandbox),
    review: () => go(id, 'changes'),
    merge: () => merging.set({ sandbox: id, repo: 0 }),
    resolve: () => go(id, 'changes'),
    archive: () => void doWork(sandbox, 'archive'),
    revive: () => void doWork(sandbox, 'revive'),
    start: () => void perform(sandbox, 'start'),
  };
  return (
    <button
      type="button"
      className={act === 'archive' ? 'button button-small' : 'button button-small button-primary'}
      onClick={run[act]}
    >
      {wordsOf(act, sandbox)}
    </button>
  );
}

function wordsOf(act: Kind, sandbox: Sandbox): string {
  const counts = countsOf(sandbox);
  switch (act) {
    case 'answer':
      return t`Answer`;
    case 'resolve':
      return t`Resolve`;
    case 'review':
      return counts === null ? t`Review` : t`Review +${counts.plus} −${counts.minus}`;
    case 'merge':
      return t`Merge`;
    case 'start':
      return sandbox.asleep ? t`Wake` : t`Start`;
    case 'archive':
    case 'revive':
      return workActWords()[act];
  }
}

/** Shows the agent that waits longest, with the keyboard in it. */
function answer(sandbox: Sandbox): void {
  const needy = longestNeedy(sandbox);
  if (needy === null) return;
  go(sandbox.sandbox_id, needy.id);
  const pane = document.getElementById(`panel-${needy.id}`);
  pane?.querySelector<HTMLElement>('.xterm-helper-textarea')?.focus();
}
