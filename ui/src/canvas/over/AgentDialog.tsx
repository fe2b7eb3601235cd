/** Which agent comes onto the dashboard, into its home sandbox. */

import { api } from '../../api/client';
import { Dialog } from '../../components/parts/Dialog';
import { Icon } from '../../components/parts/icons';
import { useAnswer } from '../../components/parts/useAnswer';
import { t } from '../../language/t';

interface AgentDialogProps {
  readonly onChoose: (agent: string) => void;
  readonly onClose: () => void;
}

const all = (): ReturnType<typeof api.catalogue> => api.catalogue();

export function AgentDialog({ onChoose, onClose }: AgentDialogProps) {
  const { value, problem } = useAnswer(all, 'agents');
  const working = value?.filter(({ state, prompts }) => state === 'works' && prompts) ?? null;
  return (
    <Dialog title={t`New agent`} onClose={onClose}>
      <div className="dialog-text">
        <p>
          {t`It works in this dashboard’s own sandbox, beside its terminals. For a branch of its own, make a todo and choose “Do this”.`}
        </p>
      </div>
      {problem !== null && <p className="form-trouble">{problem.message}</p>}
      {working?.length === 0 && (
        <p className="quiet">{t`No agent is ready here yet. Home says what each of them lacks.`}</p>
      )}
      <ul className="agent-choices">
        {working?.map(({ name }, at) => (
          <li key={name}>
            <button
              type="button"
              className="button"
              data-first-focus={at === 0 ? '' : undefined}
              onClick={() => {
                onClose();
                onChoose(name);
              }}
            >
              <Icon name="agent" />
              {name}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
