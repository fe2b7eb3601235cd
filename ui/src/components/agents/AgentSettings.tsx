/** Model and permission mode of an agent in machine mode; only its owner changes them. */

import { useEffect, useState } from 'react';
import { call, sandboxAt } from '../../api/call';
import type { Agent, AgentSetting, AgentSettings as Settings } from '../../api/types';
import { t, worded } from '../../language/t';
import { notifyFailure } from '../../state/announce';

interface AgentSettingsProps {
  readonly sandboxId: string;
  readonly agent: Agent;
  readonly owns: boolean;
}

type Name = keyof Settings;

const NAMES = worded<readonly { name: Name; words: string }[]>(() => [
  { name: 'model', words: t`Model` },
  { name: 'permission_mode', words: t`Permissions` },
]);

export function AgentSettings({ sandboxId, agent, owns }: AgentSettingsProps) {
  const { id, model, permission_mode: mode } = agent;
  const [settings, setSettings] = useState<Settings | null>(null);
  const [busy, setBusy] = useState(false);
  const address = `${sandboxAt(sandboxId)}/agents/${encodeURIComponent(id)}/settings`;

  useEffect(() => {
    let over = false;
    // What can be chosen may change with what is.
    call('GET', address).then(
      (found) => {
        if (!over) setSettings(found as Settings);
      },
      () => undefined,
    );
    return () => {
      over = true;
    };
  }, [address, model, mode]);

  async function change(name: Name, value: string): Promise<void> {
    setBusy(true);
    try {
      setSettings((await call('PATCH', address, { [name]: value })) as Settings);
    } catch (reason) {
      notifyFailure(t`${agent.agent} was not changed`)(reason);
    } finally {
      setBusy(false);
    }
  }

  if (settings === null) return null;
  return (
    <>
      {NAMES().map(({ name, words }) => {
        const setting = settings[name];
        if (setting === null) return null;
        return owns ? (
          <label key={name} className="agent-setting">
            <span>{words}</span>
            <select
              value={setting.now}
              disabled={busy}
              onChange={(event) => void change(name, event.target.value)}
            >
              {optionsOf(setting).map((one) => (
                <option key={one.id} value={one.id}>
                  {one.label}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <span key={name} className="agent-setting">
            {words}: {labelOf(setting)}
          </span>
        );
      })}
    </>
  );
}

/** The choices, and before them what is set now if it is none of them. */
function optionsOf({ now, choices }: AgentSetting): AgentSetting['choices'] {
  if (choices.some(({ id }) => id === now)) return choices;
  return [{ id: now, label: now === '' ? t`its own` : now }, ...choices];
}

function labelOf(setting: AgentSetting): string {
  return optionsOf(setting).find(({ id }) => id === setting.now)?.label ?? setting.now;
}
