/** The pages of dashboards: all of them, or one. Fetched with Yjs when one is first opened. */

import './styles/board.css';
import './styles/items.css';
import './styles/lists.css';
import { Dashboards } from './list/Dashboards';
import { DashboardPage } from './view/DashboardPage';

interface BoardProps {
  readonly id: string | null;
  readonly item: string | null;
  readonly onMenu: () => void;
}

export function Board({ id, item, onMenu }: BoardProps) {
  if (id === null) return <Dashboards onMenu={onMenu} />;
  return <DashboardPage key={id} {...{ id, item, onMenu }} />;
}
