/** One terminal among all of them: attached while it is in view, never typed at. */

import { useEffect, useRef, useState } from 'react';
import type { Sandbox, SandboxAgent, Terminal } from '../../api/types';
import { agentsOf, leadOf } from '../../state/attention/agents';
import type { AttachStatus } from '../../terminal/attach/status';
import { AgentMark } from '../agents/AgentMark';
import { Icon } from '../parts/icons';
import { agentWords, terminalWords } from '../parts/words';
import { StandingMark } from '../sandboxes/StandingMark';
import { useTerminalView } from '../terminals/useTerminalView';

interface TileProps {
  readonly sandbox: Sandbox;
  readonly terminal: Terminal;
  readonly client: string;
  readonly onOpen: () => void;
}

export function Tile({ sandbox, terminal, client, onOpen }: TileProps) {
  const tile = useRef<HTMLLIElement>(null);
  const [seen, setSeen] = useState(false);
  const [status, setStatus] = useState<AttachStatus | null>(null);
  useEffect(() => {
    if (tile.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setSeen(entries.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: '80px' },
    );
    observer.observe(tile.current);
    return () => observer.disconnect();
  }, []);
  const does = agentsOf(sandbox).find(({ id }) => id === terminal.terminal_id);
  const title = status?.title ?? '';
  const words =
    does === undefined ? terminalWords(terminal, title) : agentWords(does.agent, terminal, title);
  const agent = does !== undefined || (status?.agent ?? null) !== null;
  return (
    <li ref={tile} className="tile">
      <button
        type="button"
        className="tile-face"
        data-terminal={terminal.terminal_id}
        onClick={onOpen}
      >
        <Icon name={agent ? 'agent' : 'terminal'} />
        <span className="tile-name" title={sandbox.name}>
          {sandbox.name}
        </span>
        <span className="tile-words">{words}</span>
        <span className="spring" />
        {does !== undefined && <Does {...{ sandbox, does }} />}
      </button>
      <div className="tile-screen" inert onClick={onOpen}>
        {seen && <Picture {...{ sandbox, terminal, client }} onStatus={setStatus} />}
      </div>
    </li>
  );
}

/** The agent that concerns its person most says how the sandbox stands, as everywhere. */
function Does({ sandbox, does }: { readonly sandbox: Sandbox; readonly does: SandboxAgent }) {
  const leads = leadOf(sandbox)?.id === does.id;
  return leads ? <StandingMark sandbox={sandbox} /> : <AgentMark agent={does} />;
}

interface PictureProps {
  readonly sandbox: Sandbox;
  readonly terminal: Terminal;
  readonly client: string;
  readonly onStatus: (status: AttachStatus) => void;
}

const nothing = (): void => undefined;

/** The terminal's screen, scaled to the tile. Attached as a watcher: it asks for no size. */
function Picture({ sandbox, terminal, client, onStatus }: PictureProps) {
  const { host, view } = useTerminalView(
    {
      sandboxId: sandbox.sandbox_id,
      terminalId: terminal.terminal_id,
      client,
      watches: true,
    },
    { onStatus: (_, status) => onStatus(status), onPageKey: nothing },
  );
  useEffect(() => view?.show(true), [view]);
  return <div ref={host} className="pane-screen" aria-hidden="true" />;
}
