/** The tabs of one sandbox: its terminals and its log, and the pane of the chosen one. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { api } from '../../api/client';
import type { Agent, Sandbox, Terminal } from '../../api/types';
import { t } from '../../language/t';
import { closeTerminal, isLive, openTerminal } from '../../state/acts';
import { agentsOf, hasAgent, longestNeedy } from '../../state/attention/agents';
import { announce, notifyFailure } from '../../state/announce';
import { go, route } from '../../state/route';
import { countsOf } from '../../state/standing';
import { moveTab, ordered, orders } from '../../terminal/layout/layouts';
import { agentsMoved, loadTerminals, terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { useRights } from '../../state/team/useRights';
import type { AttachStatus } from '../../terminal/attach/status';
import { Confirm } from '../parts/Dialog';
import { CardsView } from '../agents/CardsView';
import { Icon } from '../parts/icons';
import { later } from '../parts/later';
import { LogPane } from '../sandboxes/LogPane';
import { NoFiles, noFilesWords } from '../files/NoFiles';
import { Tab } from '../parts/Tab';
import { panelOf, PlainTab, TabList } from '../parts/TabList';
import { AgentButtons } from './AgentButtons';
import { ArrangeButtons, Panes } from './Panes';
import { PreviewPanel } from './PreviewPanel';
import { RenameDialog } from './RenameDialog';
import { PREVIEW, useArrangement, type Arrangement } from './useArrangement';

interface TerminalsProps {
  readonly sandbox: Sandbox;
  /** The place in the head for who is at a terminal that is alone in view. */
  readonly slot: HTMLElement | null;
  readonly onPalette: () => void;
}

/** What lies over the tabs. */
interface Over {
  readonly is: 'close' | 'rename';
  readonly terminal: Terminal;
}

type Statuses = Readonly<Record<string, AttachStatus>>;

/** The route's words for the tabs that are no terminals. */
const LOG = 'log';
const RECORDINGS = 'recordings';
const CHANGES = 'changes';
const FILES = 'files';
const COMMITS = 'commits';
const TREES = [CHANGES, FILES, COMMITS];
const PLAIN = [LOG, RECORDINGS, PREVIEW, ...TREES];
/** Loaded when somebody looks at changes. */
const ReviewPane = later(async () => (await import('../review/ReviewPane')).default);
const FilesPane = later(async () => (await import('../files/FilesPane')).default);
const HistoryPane = later(async () => (await import('../history/HistoryPane')).default);
const RecordingsPane = later(
  async () => (await import('../recordings/RecordingsPane')).RecordingsPane,
);

const NONE: readonly Terminal[] = [];
const NO_MACHINES: readonly Agent[] = [];

export function Terminals({ sandbox, slot, onPalette }: TerminalsProps) {
  const id = sandbox.sandbox_id;
  const loaded = useStore(terminals)[id];
  const [statuses, setStatuses] = useState<Statuses>({});
  const [over, setOver] = useState<Over | null>(null);
  const tabs = useRef<HTMLDivElement>(null);
  const live = isLive(sandbox);
  const { works } = useRights(id);
  // The terminals of one that does not run are gone, whatever was loaded before.
  const list = useOrdered(id, live && loaded !== undefined ? loaded : NONE);
  const known = useMachines(id, live);
  const machines = known ?? NO_MACHINES;
  const chosen = useChosen(list, machines);
  const keys = useMemo(() => {
    const ids = [...list.map((one) => one.terminal_id), ...machines.map((one) => one.id)];
    return [...ids, ...plainTabs(live).map(({ key }) => key)];
  }, [list, machines, live]);

  useEffect(() => {
    if (live) loadTerminals(id).catch(notifyFailure(t`The terminals could not be listed`));
  }, [id, live]);
  const onStatus = useCallback((terminalId: string, status: AttachStatus) => {
    setStatuses((now) => ({ ...now, [terminalId]: status }));
  }, []);
  const onEscape = useCallback(() => {
    tabs.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
    announce(t`Left the terminal. Arrow keys choose a tab, Enter goes back in.`);
  }, []);
  useNeedyTab(sandbox, keys, listedOf(live, loaded, known));
  const arrangement = useArrangement({ id, works }, list, chosen);

  function onClose(terminal: Terminal): void {
    const { terminal_id: terminalId, state } = terminal;
    const ended = state === 'exited' || statuses[terminalId]?.phase === 'ended';
    if (ended) void closeTerminal(id, terminalId);
    else setOver({ is: 'close', terminal });
  }

  return (
    <section className={frameOf(arrangement)} aria-label={t`Terminals`}>
      <div ref={tabs} className="tabs">
        <TabList keys={keys} chosen={chosen}>
          {list.map((terminal) => (
            <Tab
              key={terminal.terminal_id}
              terminal={terminal}
              status={statuses[terminal.terminal_id]}
              agent={agentAt(sandbox, terminal.terminal_id)}
              selected={terminal.terminal_id === chosen}
              onChoose={() => choose(id, terminal.terminal_id)}
              onClose={works ? () => onClose(terminal) : null}
              onRename={works ? () => setOver({ is: 'rename', terminal }) : null}
              onMove={(by) => {
                const all = list.map((one) => one.terminal_id);
                moveTab(id, all, terminal.terminal_id, by);
              }}
            />
          ))}
          {machines.map((machine) => (
            <PlainTab
              key={machine.id}
              id={machine.id}
              icon="agent"
              selected={chosen === machine.id}
              onChoose={() => go(id, machine.id)}
            >
              {t`${machine.agent} (cards)`}
            </PlainTab>
          ))}
          {plainTabs(live).map(({ key, words }) => (
            <PlainTab
              key={key}
              id={key}
              selected={chosen === key}
              counts={key === CHANGES ? countsOf(sandbox) : undefined}
              onChoose={() => go(id, key)}
            >
              {words}
            </PlainTab>
          ))}
        </TabList>
        {live && <OpenButtons {...{ sandbox, arrangement, works }} />}
      </div>
      <div className="panes">
        {live && (
          <Panes {...{ id, list, chosen, arrangement, slot, onStatus, onEscape, onPalette }} />
        )}
        {machines
          .filter((machine) => machine.id === chosen)
          .map((machine) => (
            <div key={machine.id} className="pane" {...panelOf(machine.id)}>
              <CardsView sandboxId={id} id={machine.id} onTerminal={null} />
            </div>
          ))}
        <TreePanel sandbox={sandbox} chosen={chosen} />
        <PreviewPanel {...{ sandbox, chosen, arrangement }} />
        {live && chosen === RECORDINGS && <RecordingsPane sandboxId={id} />}
        {chosen === LOG && (
          <LogPane
            sandbox={sandbox}
            waitsForTerminal={!hasAgent(sandbox) && nothingRuns(live, loaded, known)}
          />
        )}
      </div>
      {over !== null && <Above sandboxId={id} over={over} onClose={() => setOver(null)} />}
    </section>
  );
}

/** The tabs that are no terminals, in their order. */
function plainTabs(live: boolean): readonly { readonly key: string; readonly words: string }[] {
  return [
    { key: CHANGES, words: t`Changes` },
    { key: FILES, words: t`Files` },
    { key: PREVIEW, words: t`Preview` },
    { key: COMMITS, words: t`Commits` },
    { key: LOG, words: t`Log` },
    ...(live ? [{ key: RECORDINGS, words: t`Recordings` }] : []),
  ];
}

function frameOf({ zoomed }: Arrangement): string {
  return zoomed ? 'terminals terminals-alone' : 'terminals';
}

/** What shows the files, each read while it is shown. */
function TreePanel({ sandbox, chosen }: { readonly sandbox: Sandbox; readonly chosen: string }) {
  const none = noFilesWords(sandbox);
  if (none !== null && TREES.includes(chosen))
    return <NoFiles words={none} panel={panelOf(chosen)} />;
  switch (chosen) {
    case CHANGES:
      return <ReviewPane sandbox={sandbox} />;
    case FILES:
      return <FilesPane sandbox={sandbox} />;
    case COMMITS:
      return <HistoryPane sandbox={sandbox} />;
    default:
      return null;
  }
}

interface AboveProps {
  readonly sandboxId: string;
  readonly over: Over;
  readonly onClose: () => void;
}

/** The one dialog that lies over the tabs. */
function Above({ sandboxId, over: { is, terminal }, onClose }: AboveProps) {
  if (is === 'rename') return <RenameDialog {...{ sandboxId, terminal, onClose }} />;
  return (
    <Confirm
      title={t`Close this terminal?`}
      action={t`Close terminal`}
      danger
      onClose={onClose}
      onConfirm={() => void closeTerminal(sandboxId, terminal.terminal_id)}
    >
      <p>{t`Its program and everything started from it will end, for everyone who watches.`}</p>
    </Confirm>
  );
}

type Listed = 'nothing' | 'terminals' | 'all';

/** What was listed of all that may run. */
function listedOf(
  live: boolean,
  list: readonly Terminal[] | undefined,
  machines: readonly Agent[] | null,
): Listed {
  if (!live) return 'all';
  if (list === undefined) return 'nothing';
  return machines === null ? 'terminals' : 'all';
}

function agentAt(sandbox: Sandbox, terminalId: string): string | null {
  return agentsOf(sandbox).find(({ id }) => id === terminalId)?.agent ?? null;
}

/** Whether all that may run was listed, and there is none. */
function nothingRuns(
  live: boolean,
  list: readonly Terminal[] | undefined,
  machines: readonly Agent[] | null,
): boolean {
  return live && list?.length === 0 && machines?.length === 0;
}

/** The terminals in the order their person gave them. */
function useOrdered(id: string, list: readonly Terminal[]): readonly Terminal[] {
  const wanted = useStore(orders)[id];
  return useMemo(() => {
    if (wanted === undefined) return list;
    const byId = new Map(list.map((terminal) => [terminal.terminal_id, terminal]));
    return ordered([...byId.keys()], wanted).flatMap((one) => byId.get(one) ?? []);
  }, [list, wanted]);
}

/** The tab the route names, else the first terminal, else an agent's cards, else the log. */
function useChosen(list: readonly Terminal[], machines: readonly Agent[]): string {
  const { tab } = useStore(route);
  if (tab !== null && PLAIN.includes(tab)) return tab;
  if (machines.some(({ id }) => id === tab)) return tab ?? LOG;
  const wanted = list.find((terminal) => terminal.terminal_id === tab);
  const machine = machines.find((one) => one.agent_state !== 'stopped') ?? machines.at(-1);
  return (wanted ?? list.at(0))?.terminal_id ?? machine?.id ?? LOG;
}

/** Goes to the tab of the agent that needs its person longest, where the address names no tab: as
 *  soon as that is known, and never later, when somebody may be typing. */
function useNeedyTab(sandbox: Sandbox, keys: readonly string[], listed: Listed): void {
  const { tab } = useStore(route);
  const looked = useRef(false);
  useEffect(() => {
    if (tab !== null) looked.current = false;
    else if (listed !== 'nothing' && !looked.current) {
      const needy = longestNeedy(sandbox);
      const found = needy !== null && keys.includes(needy.id);
      looked.current = needy === null || found || listed === 'all';
      if (found) go(sandbox.sandbox_id, needy.id);
    }
  }, [sandbox, keys, listed, tab]);
}

/** Agents without a terminal: programs drive them, and they are read as cards. Null until they
 *  were listed. */
function useMachines(id: string, live: boolean): readonly Agent[] | null {
  const [machines, setMachines] = useState<readonly Agent[] | null>(null);
  const moved = useStore(agentsMoved)[id] ?? 0;
  useEffect(() => {
    if (!live) return;
    api.agents(id).then(
      (list) => setMachines(list.filter(({ mode }) => mode === 'machine')),
      // An older runtime has none; the terminals are not to suffer from that.
      () => setMachines([]),
    );
  }, [id, live, moved]);
  return live ? machines : NO_MACHINES;
}

/** Shows a terminal; choosing the one that is shown goes into it. */
function choose(id: string, terminalId: string): void {
  go(id, terminalId);
  const pane = document.getElementById(panelOf(terminalId).id);
  pane?.querySelector<HTMLElement>('.xterm-helper-textarea')?.focus();
}

interface OpenButtonsProps {
  readonly sandbox: Sandbox;
  readonly arrangement: Arrangement;
  readonly works: boolean;
}

function OpenButtons({ sandbox, arrangement, works }: OpenButtonsProps) {
  const id = sandbox.sandbox_id;
  return (
    <div className="tab-tools">
      {works && (
        <button
          type="button"
          className="tab-tool"
          aria-label={t`New terminal`}
          onClick={() => void openTerminal(id)}
        >
          <Icon name="plus" />
          <span className="wide-only">{t`Terminal`}</span>
        </button>
      )}
      {works && <AgentButtons sandbox={sandbox} />}
      <ArrangeButtons arrangement={arrangement} />
    </div>
  );
}
