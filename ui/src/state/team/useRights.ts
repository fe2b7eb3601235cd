/** What the caller may do at a sandbox, followed as roles and owners change. */

import { login } from '../login';
import { useStore } from '../store';
import { useKnown } from './visited';
import { NO_RIGHTS, rightsAt, type Rights } from './rights';
import { team } from './team';

/** A guest has none of these rights: what their link allows is the terminal's own. */
export function useRights(sandboxId: string): Rights {
  const ours = useStore(team);
  const sandbox = useKnown(sandboxId) ?? undefined;
  return useStore(login).is === 'in' ? rightsAt(ours, sandbox) : NO_RIGHTS;
}
