/** Whether an agent's work for a todo has left its sandbox. */

import { api } from '../../api/client';
import { pullsOf } from '../../state/home/home';

/** True once a pull took it over, or nothing of its commits is only there; `commits`: how many it
 *  made. */
export async function isMerged(sandboxId: string, commits: number): Promise<boolean> {
  const { pulls } = await pullsOf(sandboxId);
  if (pulls.some(({ state, written }) => state === 'done' && written !== null)) return true;
  if (commits === 0) return false;
  const { places, pushes } = await api.unpulled(sandboxId);
  return places.length === 0 && pushes.length === 0;
}
