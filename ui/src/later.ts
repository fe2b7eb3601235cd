/** The parts of the page that have a file of their own, and when they are fetched. */

import { later } from './components/parts/later';
import type { Route } from './state/route';

const home = () => import('./components/frame/Home');
const sandboxView = () => import('./components/sandboxes/SandboxView');
const inbox = () => import('./components/inbox/InboxPage');
const composerDialog = () => import('./components/tasks/ComposerDialog');
const loggedOut = () => import('./components/frame/LoggedOut');

export const Home = later(async () => (await home()).Home);
export const InboxPage = later(async () => (await inbox()).InboxPage);
export const LoggedOut = later(async () => (await loggedOut()).LoggedOut);
export const Newcomer = later(async () => (await loggedOut()).Newcomer);
export const VisitOver = later(async () => (await loggedOut()).VisitOver);
export const Invited = later(async () => (await import('./components/people/Invited')).Invited);

export const SandboxView = later(async () => (await sandboxView()).SandboxView);
export const DesignPage = later(async () => (await import('./design/DesignPage')).DesignPage);
export const Compare = later(async () => (await import('./components/tasks/Compare')).Compare);
export const TerminalsPage = later(
  async () => (await import('./components/tiles/TerminalsPage')).TerminalsPage,
);
export const WorkersPage = later(
  async () => (await import('./components/workers/WorkersPage')).WorkersPage,
);
export const GuestRoom = later(
  async () => (await import('./components/people/GuestRoom')).GuestRoom,
);
export const Linking = later(async () => (await import('./components/people/Linking')).Linking);
export const Joining = later(async () => (await import('./components/people/Joining')).Joining);
export const AccountPage = later(
  async () => (await import('./components/account/AccountPage')).AccountPage,
);
export const CliLogin = later(async () => (await import('./components/account/CliLogin')).CliLogin);
export const SecretsPage = later(
  async () => (await import('./components/secrets/SecretsPage')).SecretsPage,
);
export const NotificationsPage = later(
  async () => (await import('./components/notifications/NotificationsPage')).NotificationsPage,
);
export const ComposerDialog = later(async () => (await composerDialog()).ComposerDialog);
export const HomeDialog = later(
  async () => (await import('./components/home/HomeDialog')).HomeDialog,
);

export const CopyDialog = later(
  async () => (await import('./components/snapshots/CopyDialog')).CopyDialog,
);

export const MergeDialog = later(
  async () => (await import('./components/work/MergeDialog')).MergeDialog,
);

export const Board = later(async () => (await import('./canvas/Board')).Board);
export const GuestBoard = later(async () => (await import('./canvas/GuestBoard')).GuestBoard);
export const TeamPage = later(async () => (await import('./components/team/TeamPage')).TeamPage);
export const AdminPage = later(
  async () => (await import('./components/admin/AdminPage')).AdminPage,
);

/** Fetches what the address shows beside the answer to who is here, instead of after it. */
export function fetchFirst({ page, sandbox }: Route): void {
  if (page === 'inbox') quietly(inbox);
  else if (page === 'sandboxes') quietly(sandbox === null ? home : sandboxView);
}

/** Fetches terminals while nothing else goes on, so that a sandbox opens at once, also offline;
 * not where the person asked the browser to save data. */
export function fetchSoon(): () => void {
  const { connection } = navigator as { readonly connection?: { readonly saveData: boolean } };
  if (connection?.saveData === true) return () => undefined;
  const timer = window.setTimeout(() => {
    quietly(sandboxView);
    quietly(home);
    quietly(composerDialog);
  }, 500);
  return () => window.clearTimeout(timer);
}

/** Whoever shows it later says what went wrong. */
function quietly(load: () => Promise<unknown>): void {
  load().catch(() => undefined);
}
