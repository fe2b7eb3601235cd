/** The parts of the page that have a file of their own, and when they are fetched. */

import { later } from './components/parts/later';

const sandboxView = () => import('./components/sandboxes/SandboxView');

export const SandboxView = later(async () => (await sandboxView()).SandboxView);
export const Compare = later(async () => (await import('./components/tasks/Compare')).Compare);
export const Wall = later(async () => (await import('./components/wall/Wall')).Wall);
export const GuestRoom = later(
  async () => (await import('./components/people/GuestRoom')).GuestRoom,
);
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
export const CreateDialog = later(
  async () => (await import('./components/sandboxes/CreateDialog')).CreateDialog,
);
export const HomeDialog = later(
  async () => (await import('./components/home/HomeDialog')).HomeDialog,
);

export const TeamPage = later(async () => (await import('./components/team/TeamPage')).TeamPage);
export const GiveDialog = later(
  async () => (await import('./components/team/GiveDialog')).GiveDialog,
);

/** Fetches terminals while nothing else goes on, so that a sandbox opens at once, also offline. */
export function fetchSoon(): () => void {
  const timer = window.setTimeout(() => void sandboxView().catch(() => undefined), 500);
  return () => window.clearTimeout(timer);
}
