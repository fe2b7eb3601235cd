/** Whether a terminal is being recorded: shown to everybody at it, switched by whoever works there. */

import { api } from '../../api/client';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import type { AttachStatus } from '../../terminal/attach/status';
import { Icon } from '../parts/icons';

interface RecordingMarkProps {
  readonly sandboxId: string;
  readonly terminalId: string;
  readonly works: boolean;
  readonly status: AttachStatus;
}

export function RecordingMark({ sandboxId, terminalId, works, status }: RecordingMarkProps) {
  const { recording, phase } = status;
  const on = recording?.on === true;
  if (!works) return on ? <span className="rec rec-on">{t`Recorded`}</span> : null;
  if (phase !== 'live') return null;
  const label = on ? t`Stop recording` : t`Record this terminal`;
  return (
    <button
      type="button"
      className={on ? 'rec rec-on' : 'rec'}
      aria-pressed={on}
      aria-label={label}
      title={on && recording.by !== '' ? t`${label} (begun by ${recording.by})` : label}
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => {
        const failed = notifyFailure(t`The recording could not be switched`);
        api.record(sandboxId, terminalId, !on).catch(failed);
      }}
    >
      <Icon name="record" />
      {on && <span>{t`Recording`}</span>}
    </button>
  );
}
