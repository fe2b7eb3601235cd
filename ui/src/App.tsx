/** The frame of the page: who is here, the rail, and what the rail leads to. */

import { useCallback, useEffect, useState, type ReactNode } from 'react';
import type { Sandbox } from './api/types';
import { useAccountShown } from './components/account/AccountMenu';
import { Confirm } from './components/parts/Dialog';
import { Away } from './components/frame/Away';
import { ConfirmAct } from './components/frame/ConfirmAct';
import { Attention } from './components/notifications/Attention';
import { Notices } from './components/frame/Notices';
import { Opening } from './components/frame/Opening';
import { paletteAsked } from './components/frame/page-commands';
import { Palette } from './components/frame/Palette';
import { Rail } from './components/frame/Rail';
import { followQueue } from './components/review/outbox';
import { ProjectDialog } from './components/sandboxes/ProjectDialog';
import { beginTask, compose, composing } from './components/tasks/composing';
import { commandsOf } from './commands';
import {
  AccountPage,
  Board,
  CopyDialog,
  AdminPage,
  CliLogin,
  Compare,
  ComposerDialog,
  DesignPage,
  GuestBoard,
  GuestRoom,
  Home,
  HomeDialog,
  InboxPage,
  Invited,
  Joining,
  Linking,
  LoggedOut,
  MergeDialog,
  Newcomer,
  NotificationsPage,
  SandboxView,
  SecretsPage,
  TeamPage,
  VisitOver,
  TerminalsPage,
  WorkersPage,
  fetchSoon,
} from './later';
import { useShortcuts } from './shortcuts';
import { perform, type Act } from './state/acts';
import { foldRail, railFolded } from './terminal/layout/layouts';
import { joining } from './state/team/joining';
import { linking } from './state/team/linking';
import { login, logOut, type Login } from './state/login';
import { goTo, route, type PlainPage, type Route } from './state/route';
import { connected, followSandboxes, sandboxes } from './state/sandboxes';
import { t } from './language/t';
import { copying } from './state/snapshots';
import { useStore } from './state/store';
import { tellShade } from './state/theme';
import { mayOversee, mayWork } from './state/team/rights';
import { team } from './state/team/team';
import { merging } from './state/work/acts';

type Sandboxes = readonly Sandbox[];

/** What lies over the page; one thing at a time. */
type Over =
  | { readonly is: 'act'; readonly act: Act; readonly sandbox: Sandbox }
  | { readonly is: 'home'; readonly sandbox: Sandbox }
  | { readonly is: 'palette' }
  | { readonly is: 'logout' };

export function App() {
  const who = useStore(login);
  return (
    <>
      {(who.is === 'in' || who.is === 'newcomer') && <Inside who={who} />}
      {who.is === 'invited' && <Invited key={who.ticket} ticket={who.ticket} why={who.why} />}
      {who.is === 'guest' && <Visit who={who} />}
      <Outside who={who} />
      <Notices />
    </>
  );
}

/** What is shown to those who have logged in: what a link of theirs opens comes first. */
function Inside({ who }: { readonly who: Extract<Login, { is: 'in' | 'newcomer' }> }) {
  const invitation = useStore(joining);
  const link = useStore(linking);
  if (invitation !== null) return <Joining key={invitation} secret={invitation} />;
  if (link !== null) return <Linking key={link} secret={link} />;
  return who.is === 'in' ? <Shell /> : <Newcomer name={who.name} />;
}

/** What is shown to those who are not in. */
function Outside({ who }: { readonly who: Login }) {
  switch (who.is) {
    case 'checking':
      return <Opening />;
    case 'away':
      return <Away />;
    case 'out':
      return <LoggedOut why={who.why} ended={who.ended} />;
    case 'over':
      return <VisitOver />;
    default:
      return null;
  }
}

/** What a guest sees: the dashboard of the link, or the terminals or the recording. */
function Visit({ who }: { readonly who: Extract<Login, { is: 'guest' }> }) {
  const { name, access, over } = who;
  if (access.dashboard_id === null) return <GuestRoom {...{ name, access, over }} />;
  return <GuestBoard id={access.dashboard_id} {...{ name, access, over }} />;
}

function Shell() {
  const list = useStore(sandboxes);
  const works = mayWork(useStore(team));
  const oversees = mayOversee(useStore(team));
  const { page: asked, sandbox: wanted, tab } = useStore(route);
  const page = usePage(asked);
  const [over, setOver] = useState<Over | null>(null);
  const [menu, setMenu] = useState(false);
  const folded = useStore(railFolded);
  const sandbox = list?.find((one) => one.sandbox_id === wanted || one.name === wanted) ?? null;

  useEffect(followSandboxes, []);
  useEffect(followQueue, []);
  useEffect(tellShade, []);
  useEffect(fetchSoon, []);
  const onPalette = useCallback(() => setOver({ is: 'palette' }), []);
  const onMenu = (): void => setMenu(true);
  useEffect(() => paletteAsked.subscribe(onPalette), [onPalette]);
  const covered = useCovered();
  useShortcuts(!covered && over === null, {
    onPalette,
    onTask: () => works && beginTask(),
    onNew: () => works && compose(),
    onTerminals: () => goTo('terminals'),
    onInbox: () => goTo('inbox'),
    onBoards: () => goTo('dashboards'),
    onAdmin: () => oversees && goTo('admin'),
    onFold: foldRail,
  });

  function onAct(act: Act): void {
    if (sandbox === null) return;
    if (act === 'start') void perform(sandbox, act);
    else setOver({ is: 'act', act, sandbox });
  }

  function onHome(): void {
    if (sandbox !== null) setOver({ is: 'home', sandbox });
  }

  return (
    <div className={shellClass(menu, folded)}>
      <a className="skip" href="#main" onClick={skipToMain}>
        {t`Skip to the sandbox`}
      </a>
      <Rail onNew={compose} onPalette={onPalette} onPick={() => setMenu(false)} />
      <button
        type="button"
        className="veil"
        aria-label={t`Close the list`}
        onClick={() => setMenu(false)}
      />
      <div className="stage" id="main" tabIndex={-1}>
        {sandbox !== null && (
          <SandboxView
            key={sandbox.sandbox_id}
            {...{ sandbox, onAct, onHome, onPalette, onMenu }}
          />
        )}
        <PlainPages page={page} part={tab} {...{ onMenu, onPalette }} />
        {page === 'sandboxes' && sandbox === null && list !== null && (
          <Home list={list} missing={wanted !== null} {...{ onMenu, onPalette }} />
        )}
      </div>
      <Offline />
      <Attention name={sandbox?.name ?? null} />
      {works && <ComposerDialog />}
      <Merging />
      <Copying />
      <ProjectDialog />
      <Above over={over} setOver={setOver} place={{ sandbox, list: list ?? [], onAct, onHome }} />
    </div>
  );
}

/** Whether a dialog that opens from anywhere lies over the page. */
function useCovered(): boolean {
  const merges = useStore(merging) !== null;
  const copies = useStore(copying) !== null;
  return useStore(composing) !== null || merges || copies;
}

function Copying() {
  return useStore(copying) === null ? null : <CopyDialog />;
}

function Merging() {
  return useStore(merging) === null ? null : <MergeDialog />;
}

/** The page that is shown: one person's home has neither account nor team. */
function usePage(asked: Route['page']): Route['page'] {
  const account = useAccountShown();
  const ours = useStore(team);
  if (asked === 'account' && !account) return 'sandboxes';
  if (asked === 'admin' && !mayOversee(ours)) return 'sandboxes';
  return asked === 'team' && ours === null ? 'sandboxes' : asked;
}

/** Says that what is shown may be old, also where the rail is folded away. */
function Offline() {
  const live = useStore(connected);
  return (
    <p className="offline" role="status">
      {!live && t`Offline: what you see may be old. Trying again…`}
    </p>
  );
}

interface PlainPagesProps {
  readonly page: Route['page'];
  readonly part: string | null;
  readonly onMenu: () => void;
  readonly onPalette: () => void;
}

/** The pages that belong to no sandbox. */
const PAGES: Readonly<Record<PlainPage, (at: PlainPagesProps, list: Sandboxes) => ReactNode>> = {
  dashboards: ({ part, onMenu }) => <Dashboards id={part} onMenu={onMenu} />,
  admin: ({ part, onMenu }) => <AdminPage part={part} onMenu={onMenu} />,
  inbox: ({ onMenu }) => <InboxPage onMenu={onMenu} />,
  notifications: ({ onMenu }) => <NotificationsPage onMenu={onMenu} />,
  secrets: ({ onMenu }) => <SecretsPage onMenu={onMenu} />,
  account: ({ onMenu }) => <AccountPage onMenu={onMenu} />,
  cli: ({ part, onMenu }) => <CliLogin key={part} code={part} onMenu={onMenu} />,
  compare: ({ part, onMenu }, list) => <Compare list={list} group={part} onMenu={onMenu} />,
  team: ({ onMenu }) => <TeamPage onMenu={onMenu} />,
  design: ({ onMenu }) => <DesignPage onMenu={onMenu} />,
  workers: ({ part, onMenu }) => <WorkersPage id={part} onMenu={onMenu} />,
  terminals: ({ part, ...calls }, list) => (
    <TerminalsPage list={list} from={part} onMenu={calls.onMenu} onPalette={calls.onPalette} />
  ),
};

function PlainPages(at: PlainPagesProps) {
  const list = useStore(sandboxes);
  return at.page === 'sandboxes' ? null : PAGES[at.page](at, list ?? []);
}

/** The list of dashboards, or one of them with the item that the address leads to. */
function Dashboards({ id, onMenu }: { readonly id: string | null; readonly onMenu: () => void }) {
  return <Board {...{ id, onMenu }} item={useStore(route).item} />;
}

interface AboveProps {
  readonly over: Over | null;
  readonly setOver: (over: Over | null) => void;
  readonly place: {
    readonly sandbox: Sandbox | null;
    readonly list: readonly Sandbox[];
    readonly onAct: (act: Act) => void;
    readonly onHome: () => void;
  };
}

/** The one thing that lies over the page. */
function Above({ over, setOver, place }: AboveProps) {
  const close = (): void => setOver(null);
  switch (over?.is) {
    case undefined:
      return null;
    case 'act':
      return <ConfirmAct sandbox={over.sandbox} act={over.act} onClose={close} />;
    case 'home':
      return <HomeDialog sandbox={over.sandbox} onClose={close} />;
    case 'palette':
      return (
        <Palette
          onClose={close}
          onProfile={(profile) => compose({ profile })}
          commands={commandsOf({
            ...place,
            onNew: compose,
            onLogOut: () => setOver({ is: 'logout' }),
          })}
        />
      );
    case 'logout':
      return (
        <Confirm
          title={t`Log out?`}
          action={t`Log out`}
          onClose={close}
          onConfirm={() => void logOut()}
        >
          <p>{t`Sandboxes and terminals keep running. A new login link brings you back.`}</p>
        </Confirm>
      );
  }
}

function shellClass(menu: boolean, folded: boolean): string {
  return ['shell', menu && 'shell-menu', folded && 'shell-folded'].filter(Boolean).join(' ');
}

function skipToMain(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
