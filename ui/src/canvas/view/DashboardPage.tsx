/** One dashboard: its bar, the canvas, and what lies over it; on a phone a list of cards. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { reportLoggedOut } from '../../api/call';
import { pageCommands } from '../../components/frame/page-commands';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { go, hashOf } from '../../state/route';
import { narrow, useMatches } from '../../state/screen';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { knownOf, visit } from '../../state/team/visited';
import { team } from '../../state/team/team';
import type { Item } from '../document/items';
import { agentOf } from '../items/agent-of';
import { PhoneBoard } from '../list/PhoneBoard';
import { BoardBar } from './BoardBar';
import { BoardOver, type Over } from '../over/BoardOver';
import { Canvas } from './Canvas';
import { can, COMMANDS, type Places } from './commands';
import { showWork, type Way } from './hanging';
import { makeItem, renewTerminal, useOpening } from './making';
import { Minimap } from './Minimap';
import { ChosenTools, Toolbar, ZoomTools } from './Toolbar';
import { useComments } from '../comments/useComments';
import type { Stage } from './stage';
import { lastView, useDashboard, type OpenDashboard } from './useDashboard';

interface DashboardPageProps {
  readonly id: string;
  /** The item that the address leads to. */
  readonly item: string | null;
  /** Null for a guest, who has no other pages. */
  readonly onMenu: (() => void) | null;
}

export function DashboardPage({ id, item, onMenu }: DashboardPageProps) {
  const open = useDashboard(id);
  const phone = useMatches(narrow);
  useEffect(() => {
    if (open?.dashboard != null) document.title = `${open.dashboard.name} · Atoll`;
  }, [open?.dashboard]);
  if (open === null)
    return (
      <main className="board" aria-label={t`Dashboard`}>
        <p className="boards-none quiet">{t`Opening…`}</p>
      </main>
    );
  return <Opened key={id} {...{ id, item, open, phone, onMenu }} />;
}

interface OpenedProps extends DashboardPageProps {
  readonly open: OpenDashboard;
  readonly phone: boolean;
}

/** What only who may begin agents can do. */
const LOOKS = { onGive: null, onRenew: null, onAgent: null };

function Opened({ id, item, open, phone, onMenu }: OpenedProps) {
  const { stage, status, peers, guest } = open;
  const [over, setOver] = useState<Over | null>(null);
  const comments = useComments(id);
  const opening = useOpening();
  const works = mayWork(useStore(team)) && stage.works;
  const places = useMemo((): Places => {
    // A guest is refused both.
    const show = (is: 'share' | 'history'): void => setOver(guest ? null : { is });
    return {
      stage,
      make: (kind) => {
        if (kind === 'agent') setOver({ is: 'task', item: null, words: null });
        else void makeItem(id, stage, kind);
      },
      help: () => setOver({ is: 'help' }),
      share: () => show('share'),
      history: () => show('history'),
      copyAddress: () => copyAddress(id, stage.chosen.get()[0] ?? null),
      comment: () => setOver({ is: 'comments', item: stage.chosen.get()[0] ?? null }),
      tools: () => enterTools(stage),
      give: works ? (todo) => setOver({ is: 'task', item: todo, words: null }) : null,
    };
  }, [id, stage, guest, works]);
  const onGive = useCallback((todo: Item) => setOver({ is: 'task', item: todo, words: null }), []);
  const onWay = useWay(stage, phone, setOver);
  const onRenew = useCallback(
    (gone: Item) => {
      const agent = agentOf(gone, knownOf(gone.sandboxId) ?? null);
      if (gone.kind === 'agent' && agent === null) setOver({ is: 'task', item: gone, words: null });
      else void renewTerminal(id, stage, gone, agent === null ? null : { agent, words: '' });
    },
    [id, stage],
  );
  const onAgent = (): void => places.make('agent');
  const begins = works ? { onGive, onRenew, onAgent } : LOOKS;
  useBegin(id, item, open);
  useEndOfVisit(open);
  useVisits(stage);
  usePalette(places);

  return (
    <main className="board" aria-label={open.dashboard?.name ?? t`Dashboard`}>
      <BoardBar
        {...{ open, onMenu, opening }}
        onShare={places.share}
        onHistory={places.history}
        onRename={() => setOver({ is: 'rename' })}
        onComments={comments.known ? () => setOver({ is: 'comments', item: null }) : null}
        openComments={comments.open}
      />
      {phone ? (
        <PhoneBoard {...{ open, id, onWay }} onGive={begins.onGive} onAgent={begins.onAgent} />
      ) : (
        <div className="board-stage">
          <Canvas
            {...{ stage, places, peers, onWay }}
            people={open.people}
            comments={comments.byItem}
            onGive={begins.onGive}
            onRenew={begins.onRenew}
          />
          <Toolbar places={places} />
          <ZoomTools places={places} />
          <Minimap stage={stage} peers={peers} />
          <ChosenTools places={places} />
          {!status.loaded && <p className="board-loading quiet">{t`Loading its document…`}</p>}
          {status.loaded && <Empty open={open} />}
        </div>
      )}
      {over !== null && (
        <BoardOver
          {...{ id, open, over, comments, phone, works }}
          onOver={setOver}
          onClose={() => setOver(null)}
        />
      )}
    </main>
  );
}

/** The ways from a todo to its agent's work: on a phone its sandbox, which shows one thing at once. */
function useWay(stage: Stage, phone: boolean, setOver: (over: Over) => void) {
  return useCallback(
    (todo: Item, way: Way): void => {
      const sandbox = todo.task?.sandboxId ?? '';
      if (way === 'answer' || way === 'home') setOver({ is: way, sandbox });
      else if (phone) go(sandbox, way === 'diff' ? 'changes' : null);
      else showWork(stage, todo, way);
    },
    [stage, phone, setOver],
  );
}

/** Goes into a terminal, with the keyboard at what somebody asks there, else in its line of tools. */
function enterTools(stage: Stage): void {
  const terminal = stage.picked.find(({ kind }) => kind === 'terminal' || kind === 'agent');
  if (terminal === undefined) return;
  stage.open(terminal);
  const at = `[data-item="${terminal.id}"]`;
  const first = (place: string): HTMLElement | null =>
    document.querySelector(`${at} ${place} :is(button, select):enabled`);
  // The terminal takes the keyboard first.
  window.setTimeout(() => {
    (first('[role="alert"]') ?? first('.item-slot'))?.focus({ preventScroll: true });
  }, 50);
}

/** Puts the address of an item into the clipboard: it leads there whoever may see the dashboard. */
function copyAddress(id: string, item: string | null): void {
  const hash = hashOf({ page: 'dashboards', sandbox: null, tab: id, item });
  const address = new URL(hash, window.location.href).href;
  navigator.clipboard
    .writeText(address)
    .then(
      () => notify(t`Its address is in the clipboard.`),
      notifyFailure(t`It could not be copied`),
    );
}

/** What one can do where nothing is yet. */
function Empty({ open }: { readonly open: OpenDashboard }) {
  const items = useStore(open.stage.board.list);
  if (items.length > 0) return null;
  return (
    <div className="board-empty">
      <p>{t`Nothing is here yet.`}</p>
      {open.stage.works && (
        <p className="quiet">
          {t`Double-click for a note, ${(<kbd>T</kbd>)} for a terminal, ${(<kbd>D</kbd>)} for a todo, ${(<kbd>?</kbd>)} for the rest.`}
        </p>
      )}
    </div>
  );
}

/** Keeps the sandboxes fresh that items show. */
function useVisits(stage: Stage): void {
  const items = useStore(stage.board.list);
  const ids = [...new Set(items.flatMap((one) => one.sandboxId ?? one.task?.sandboxId ?? []))];
  const key = ids.sort().join(' ');
  useEffect(() => visit(key === '' ? [] : key.split(' ')), [key]);
}

/** Shows the item of the address, else what was looked at last, else everything. */
function useBegin(id: string, item: string | null, { stage, status }: OpenDashboard): void {
  const size = useStore(stage.size);
  const shown = useRef<string | null>(null);
  const ready = status.loaded && size.w > 1;
  useEffect(() => {
    if (!ready) return;
    const wanted = item === null ? null : stage.board.item(item);
    if (wanted !== null && shown.current !== item) stage.visit(wanted, shown.current === null);
    else if (shown.current === null && lastView(id) === null) stage.fit(stage.items, true);
    shown.current = item ?? '';
  }, [ready, id, item, stage]);
}

/** The end of a guest's link is the end of the whole visit. */
function useEndOfVisit({ guest, status }: OpenDashboard): void {
  const over = guest && status.phase === 'over';
  useEffect(() => {
    if (over) reportLoggedOut();
  }, [over]);
}

/** The palette offers what the canvas can do. */
function usePalette(places: Places): void {
  useEffect(() => {
    const { stage } = places;
    const tell = (): void =>
      pageCommands.set(
        COMMANDS()
          .filter((command) => can(command, stage))
          .map((command) => ({
            id: `board ${command.id}`,
            words: command.words,
            icon: command.icon,
            ...(command.keys?.[0] === undefined ? {} : { note: command.keys[0] }),
            run: () => command.run(places),
          })),
      );
    tell();
    const stop = stage.chosen.subscribe(tell);
    return () => {
      stop();
      pageCommands.set([]);
    };
  }, [places]);
}
