/** The agents of a sandbox that take prompts, as they come and go. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { Agent } from '../../api/types';
import { agentsMoved } from '../../state/sandboxes';
import { useStore } from '../../state/store';

/** The agents of a sandbox that have not ended. */
export function useAgents(sandboxId: string): readonly Agent[] {
  const [agents, setAgents] = useState<readonly Agent[]>([]);
  const moved = useStore(agentsMoved)[sandboxId] ?? 0;
  useEffect(() => {
    api.agents(sandboxId).then(
      (list) => setAgents(list.filter(({ agent_state: state }) => state !== 'stopped')),
      () => undefined, // What was known stays; the next change asks again.
    );
  }, [sandboxId, moved]);
  return agents;
}
