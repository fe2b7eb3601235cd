/** What the caller may do at a sandbox, followed as roles and owners change. */

import { login } from '../login';
import { sandboxes } from '../sandboxes';
import { useStore } from '../store';
import { NO_RIGHTS, rightsAt, type Rights } from './rights';
import { team } from './team';

/** A guest has none of these rights: what their link allows is the terminal's own. */
export function useRights(sandboxId: string): Rights {
  const ours = useStore(team);
  const sandbox = useStore(sandboxes)?.find(({ sandbox_id: id }) => id === sandboxId);
  return useStore(login).is === 'in' ? rightsAt(ours, sandbox) : NO_RIGHTS;
}
