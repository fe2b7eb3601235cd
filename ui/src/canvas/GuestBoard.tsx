/** What somebody sees who came by the link of a dashboard: that one, to look at. */

import './styles/board.css';
import './styles/items.css';
import './styles/lists.css';
import { GuestHead } from '../components/people/GuestHead';
import type { GuestAccess } from '../api/types';
import { DashboardPage } from './view/DashboardPage';

interface GuestBoardProps {
  readonly id: string;
  readonly name: string;
  readonly access: GuestAccess;
  /** The link was revoked or has expired: what was seen stays. */
  readonly over: boolean;
}

export function GuestBoard({ id, name, access, over }: GuestBoardProps) {
  return (
    <div className="guest-board">
      <GuestHead {...{ name, access, over }} place={null} />
      <DashboardPage id={id} item={null} onMenu={null} />
    </div>
  );
}
