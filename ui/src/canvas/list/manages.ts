/** What somebody may do with a dashboard, beside what is on it. Pure; the server decides. */

import { mayAdminister, type Team } from '../../state/team/rights';
import type { Comment, Dashboard } from './api';

/** Whether they name, share and delete it: its owner, and administrators. */
export function managesBoard(dashboard: Dashboard | null, ours: Team | null): boolean {
  if (dashboard === null) return false;
  return dashboard.role === 'owner' || (ours !== null && mayAdminister(ours));
}

/** Whether they resolve a comment: its author may, and who edits the dashboard. */
export function mayResolve(comment: Comment, me: string, edits: boolean): boolean {
  return edits || comment.author === me;
}
