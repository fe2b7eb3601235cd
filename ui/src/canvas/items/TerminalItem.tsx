/**
 * A terminal or agent on the canvas: live where it can be read, a picture of it from afar.
 *
 * A live pane is drawn in letters of its size, without a transform, so that the mouse, the
 * selection and links of the terminal stay right at every zoom.
 */

import { Suspense, use, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { CSSProperties } from 'react';
import { askForPalette } from '../../components/frame/page-commands';
import { CardsView } from '../../components/agents/CardsView';
import { TerminalPane } from '../../components/terminals/TerminalPane';
import type { Terminal } from '../../api/types';
import { t } from '../../language/t';
import { isComing, isLive, perform } from '../../state/acts';
import { age, isNow, tick } from '../../state/clock';
import { login } from '../../state/login';
import { go } from '../../state/route';
import { loadTerminal, terminals } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { useKnown } from '../../state/team/visited';
import { clientId } from '../../terminal/attach/client-id';
import { fontsLoaded } from '../../terminal/screen/fonts';
import type { TerminalView } from '../../terminal/screen/view';
import { changeItems } from '../document/acts';
import { nameOf, type Item } from '../document/items';
import type { Stage } from '../view/stage';
import { FAR_ZOOM } from '../view/viewport';
import { useShown } from './agent-of';
import { gridOf } from './grid';
import { keepPicture, pictures, want } from '../pictures/pictures';
import { useTurn } from './turns';

export interface TerminalItemProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly inside: boolean;
  /** Where the terminal's own line of tools is shown. */
  readonly slot: HTMLElement | null;
  /** Opens a terminal in place of one that is gone; null where this person may not. */
  readonly onRenew: ((item: Item) => void) | null;
}

export function TerminalItem(props: TerminalItemProps) {
  const { stage, item, inside } = props;
  const { sandboxId } = item;
  const shown = useShown(item);
  const terminalId = shown.is === 'terminal' ? shown.id : null;
  const rest = useStore(stage.rest);
  const zoom = useTurn(rest, inside);
  const found = useTerminal(sandboxId, terminalId);
  useNamed(stage, item, terminalId);
  if (sandboxId !== null && shown.is === 'cards')
    return <CardsView sandboxId={sandboxId} id={shown.id} onTerminal={null} />;
  if (shown.is === 'coming' && found.is !== 'stopped') return <Coming item={item} />;
  if (sandboxId === null || terminalId === null || found.is !== 'there')
    return <Absent {...props} why={found.is} />;
  if (zoom === null) return <PictureOf terminalId={terminalId} before={t`Opening…`} />;
  if (zoom < FAR_ZOOM && !inside)
    return <Far item={item.id} sandboxId={sandboxId} terminalId={terminalId} />;
  return (
    <Suspense fallback={<PictureOf terminalId={terminalId} before={t`Opening…`} />}>
      <div className="pane-turn" style={laidOutFor(zoom, rest)}>
        <Live {...props} terminal={found.terminal} sandboxId={sandboxId} zoom={zoom} />
      </div>
    </Suspense>
  );
}

/** An item of a sandbox's agent names the terminal of that agent, whichever it is now: who only
 *  views the dashboard may watch the terminals that are named on it, and finds no other. */
function useNamed(stage: Stage, { id, terminalId, follows }: Item, known: string | null): void {
  const names = stage.works && known !== null && (terminalId === null || follows);
  useEffect(() => {
    if (!names || known === terminalId) return;
    stage.board.note(() => {
      const fields = stage.board.fields.get(id);
      fields?.set('terminal_id', known);
      fields?.set('follows', true);
    });
  }, [names, stage, id, known, terminalId]);
}

/** Until its turn comes, a pane that is laid out for another zoom is scaled. */
function laidOutFor(zoom: number, rest: number): CSSProperties {
  return { '--z': zoom, '--late': rest / zoom } as CSSProperties;
}

type Found =
  | { readonly is: 'there'; readonly terminal: Terminal }
  | { readonly is: 'looking' | 'gone' | 'stopped' };

/** The terminal of an item, as the server knows it. */
function useTerminal(sandboxId: string | null, terminalId: string | null): Found {
  const list = useStore(terminals)[sandboxId ?? ''];
  const [failed, setFailed] = useState(false);
  const sandbox = useKnown(sandboxId);
  const live = sandbox === undefined || (sandbox !== null && isLive(sandbox));
  useEffect(() => {
    if (sandboxId === null || terminalId === null || !live) return;
    loadTerminal(sandboxId, terminalId).then(
      () => setFailed(false),
      () => setFailed(true),
    );
  }, [sandboxId, terminalId, live]);
  const terminal = list?.find((one) => one.terminal_id === terminalId);
  if (sandbox === null) return { is: 'gone' };
  if (sandbox !== undefined && !live) return { is: 'stopped' };
  if (terminal !== undefined) return { is: 'there', terminal };
  if (!failed && (sandbox === undefined || list === undefined)) return { is: 'looking' };
  return { is: 'gone' };
}

interface LiveProps extends TerminalItemProps {
  readonly terminal: Terminal;
  readonly sandboxId: string;
  /** The zoom that it is laid out for. */
  readonly zoom: number;
}

function Live({ stage, item, inside, slot, terminal, sandboxId, zoom }: LiveProps) {
  const client = use(clientId());
  use(fontsLoaded());
  const [view, setView] = useState<TerminalView | null>(null);
  const terminalId = terminal.terminal_id;
  usePictureAtEnd(view, terminalId);
  useTabStop(item.id, view, inside);
  const onCards = useCallback(
    (cards: boolean) => changeItems(stage.board, [item.id], { view: cards ? 'cards' : 'terminal' }),
    [stage, item.id],
  );
  return (
    <TerminalPane
      sandboxId={sandboxId}
      terminal={terminal}
      client={client}
      visible
      active={inside}
      slot={slot}
      canvas={{ ...gridOf(item), zoom }}
      onView={setView}
      onEnter={() => stage.enter(item.id)}
      onStatus={nothing}
      onPageKey={(key) => {
        if (key === 'escape') leaveTo(stage, item.id);
        else if (key === 'palette') askForPalette();
      }}
      {...(item.kind === 'agent' && stage.works ? { cards: item.view === 'cards', onCards } : {})}
    />
  );
}

const nothing = (): void => undefined;

/** Out of a terminal onto its item, at once: keys that follow are the canvas's. */
function leaveTo(stage: Stage, id: string): void {
  stage.leave();
  document.querySelector<HTMLElement>(`[data-item="${id}"]`)?.focus({ preventScroll: true });
}

/** Tab passes a terminal that nobody went into: it would keep the keyboard. */
function useTabStop(id: string, view: TerminalView | null, inside: boolean): void {
  useEffect(() => {
    const input = document.querySelector(`[data-item="${id}"] .xterm-helper-textarea`);
    input?.setAttribute('tabindex', inside ? '0' : '-1');
  }, [id, view, inside]);
}

/** What was on the screen stays as a picture when the pane leaves. */
function usePictureAtEnd(view: TerminalView | null, terminalId: string): void {
  const last = useRef(view);
  useLayoutEffect(() => {
    last.current = view;
  });
  useLayoutEffect(
    // Before the view is disposed, which effects that came later do.
    () => () => keepPicture(terminalId, last.current?.picture() ?? null),
    [terminalId],
  );
}

interface FarProps {
  readonly item: string;
  readonly sandboxId: string;
  readonly terminalId: string;
}

function Far({ item, sandboxId, terminalId }: FarProps) {
  useEffect(() => want(item, { sandboxId, terminalId }), [item, sandboxId, terminalId]);
  return <PictureOf terminalId={terminalId} />;
}

interface PictureProps {
  readonly terminalId: string;
  /** What is said before there is one. */
  readonly before?: string;
}

/** The last picture, and how old it is. */
function PictureOf({ terminalId, before = t`Taking a picture…` }: PictureProps) {
  const picture = useStore(pictures).get(terminalId);
  const now = useStore(tick);
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (picture !== undefined) host.current?.replaceChildren(picture.canvas);
  }, [picture]);
  const words =
    picture === undefined
      ? before
      : t`Picture, ${ageWords(new Date(picture.at).toISOString(), now)}`;
  return (
    <div className="pane-picture">
      <div ref={host} className="pane-still" role="img" aria-label={words} />
      <p className="pane-age">{words}</p>
    </div>
  );
}

function ageWords(at: string, now: number): string {
  return isNow(at, now) ? t`just now` : t`${age(at, now)} old`;
}

function Coming({ item }: { readonly item: Item }) {
  return <p className="pane-absent quiet">{t`${nameOf(item)} is on its way…`}</p>;
}

/** What stands in place of a terminal that is not there. */
function Absent({ item, why, onRenew }: TerminalItemProps & { readonly why: Found['is'] }) {
  const sandbox = useKnown(item.sandboxId) ?? undefined;
  const guest = useStore(login).is === 'guest';
  if (why === 'looking') return <p className="pane-absent quiet">{t`Looking for its terminal…`}</p>;
  if (why === 'stopped' && sandbox !== undefined && isComing(sandbox))
    return (
      <p className="pane-absent quiet">{t`Its sandbox “${sandbox.name}” is being started.`}</p>
    );
  if (why === 'stopped' && sandbox !== undefined)
    return (
      <div className="pane-absent">
        <p>
          {sandbox.asleep
            ? t`Its sandbox “${sandbox.name}” sleeps.`
            : t`Its sandbox “${sandbox.name}” is ${sandbox.state}.`}
        </p>
        <button
          type="button"
          className="button button-small"
          onClick={() => void perform(sandbox, 'start')}
        >
          {sandbox.asleep ? t`Wake it` : t`Start it`}
        </button>
        <button
          type="button"
          className="button button-small"
          onClick={() => go(sandbox.sandbox_id)}
        >
          {t`Open it`}
        </button>
      </div>
    );
  return (
    <div className="pane-absent">
      <p>{guest ? t`Your link does not show this terminal.` : t`This terminal has ended.`}</p>
      {onRenew !== null && (
        <button type="button" className="button button-small" onClick={() => onRenew(item)}>
          {t`Open a new one here`}
        </button>
      )}
    </div>
  );
}
