/** Leads from a sandbox to the worker whose agent works in it, where there is one. */

import type { Sandbox } from '../../api/types';
import { workersApi, type Worker } from '../../api/workers';
import { t } from '../../language/t';
import { goTo } from '../../state/route';
import { Icon } from '../parts/icons';
import { useAnswer } from '../parts/useAnswer';

const workerIn = async (sandboxId: string): Promise<Worker | null> =>
  (await workersApi.list()).find(({ sandbox }) => sandbox?.id === sandboxId) ?? null;

export function WorkerLink({ sandbox }: { readonly sandbox: Sandbox }) {
  const { agent, agents, sandbox_id: id } = sandbox;
  // A sandbox without an agent is not asked about.
  const may = agent !== null || agents.some(({ mode }) => mode === 'machine');
  return may ? <Found sandboxId={id} /> : null;
}

function Found({ sandboxId }: { readonly sandboxId: string }) {
  // Without an answer nothing is missing: the link is a convenience.
  const { value: worker } = useAnswer(workerIn, sandboxId);
  if (worker === null) return null;
  const { worker_id: id } = worker;
  return (
    <li>
      <a
        className="fact fact-link"
        href={`#/workers/${encodeURIComponent(id)}`}
        onClick={(event) => {
          event.preventDefault();
          goTo('workers', id);
        }}
      >
        <Icon name="agent" />
        {t`worker ${id}`}
      </a>
    </li>
  );
}
