/** What provisioning said, step by step; follows while the sandbox is on its way. */

import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client';
import type { LogLine, Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { openTerminal } from '../../state/acts';
import { useRights } from '../../state/team/useRights';
import { Icon } from '../parts/icons';
import { panelOf } from '../parts/TabList';

interface LogPaneProps {
  readonly sandbox: Sandbox;
  /** The sandbox is live and nobody has opened a terminal in it yet. */
  readonly waitsForTerminal: boolean;
}

const POLL_MS = 500;
const MOVING = ['requested', 'provisioning', 'destroying'];

export function LogPane({ sandbox, waitsForTerminal }: LogPaneProps) {
  const { sandbox_id: id, state } = sandbox;
  const { works } = useRights(id);
  const [lines, setLines] = useState<readonly LogLine[] | null>(null);
  const end = useRef<HTMLLIElement>(null);
  const moving = MOVING.includes(state);

  useEffect(() => {
    let gone = false;
    const load = (): void => {
      api.logs(id).then(
        (next) => {
          if (!gone) setLines(next);
        },
        () => {
          if (!gone) setLines((now) => now ?? []);
        },
      );
    };
    load();
    if (!moving) return () => void (gone = true);
    const timer = window.setInterval(load, POLL_MS);
    return () => {
      gone = true;
      window.clearInterval(timer);
    };
  }, [id, state, moving]);

  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines]);

  return (
    <div className="log" {...panelOf('log')}>
      {waitsForTerminal && (
        <div className="log-invite">
          <p>{t`The sandbox is ready. Nothing runs in it yet.`}</p>
          {works && (
            <button
              type="button"
              className="button button-primary"
              onClick={() => void openTerminal(id)}
            >
              <Icon name="terminal" />
              {t`Open a terminal`}
            </button>
          )}
        </div>
      )}
      {sandbox.asleep && (
        <div className="log-invite" role="status">
          <p>{t`It sleeps. Its terminals and agents are back as they were once somebody uses it.`}</p>
          {sandbox.reason !== null && <p className="quiet">{sandbox.reason}</p>}
        </div>
      )}
      <ol className="log-lines" aria-live={moving ? 'polite' : 'off'}>
        {(lines ?? []).map((line, i) => (
          <li key={i} ref={i === (lines?.length ?? 0) - 1 ? end : undefined}>
            <time dateTime={line.at}>{line.at.slice(11, 19)}</time>
            <span>{line.text}</span>
          </li>
        ))}
        {moving && (
          <li className="log-now">
            <time>…</time>
            <span>{t`working`}</span>
          </li>
        )}
      </ol>
      {lines?.length === 0 && !moving && <p className="quiet">{t`Nothing was logged.`}</p>}
    </div>
  );
}
