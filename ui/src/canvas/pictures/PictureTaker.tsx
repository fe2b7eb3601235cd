/** Attaches terminals that are looked at from afar, a few at a time, for one picture each. */

import { use, useEffect, useState } from 'react';
import { useTerminalView } from '../../components/terminals/useTerminalView';
import { tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { clientId } from '../../terminal/attach/client-id';
import { fontsLoaded } from '../../terminal/screen/fonts';
import { keepPicture, nextOf, pictures, wanted, type Wanted } from './pictures';

export function PictureTaker() {
  const client = use(clientId());
  use(fontsLoaded());
  const all = useStore(wanted);
  const taken = useStore(pictures);
  const now = useStore(tick);
  // One that answers nothing must not keep the others waiting.
  const [failed, setFailed] = useState<ReadonlyMap<string, { at: number }>>(new Map());
  const next = nextOf(all.values(), new Map([...failed, ...taken]), now);
  return (
    <div className="picture-taker" aria-hidden="true" inert>
      {next.map((one) => (
        <Take
          key={one.terminalId}
          one={one}
          client={client}
          onFail={() => setFailed(new Map(failed).set(one.terminalId, { at: Date.now() }))}
        />
      ))}
    </div>
  );
}

interface TakeProps {
  readonly one: Wanted;
  readonly client: string;
  readonly onFail: () => void;
}

/** What was printed so far has been drawn after that. */
const DRAWN_MS = 350;
const GIVEN_UP_MS = 6_000;
const nothing = (): void => undefined;

function Take({ one, client, onFail }: TakeProps) {
  const { sandboxId, terminalId } = one;
  const { host, view, status } = useTerminalView(
    { sandboxId, terminalId, client, watches: true },
    { onStatus: nothing, onPageKey: nothing },
  );
  const live = status !== null && status.cols > 0;
  useEffect(() => {
    if (view === null || !live) return;
    const timer = window.setTimeout(() => keepPicture(terminalId, view.picture()), DRAWN_MS);
    return () => window.clearTimeout(timer);
  }, [view, live, terminalId]);
  useEffect(() => {
    const timer = window.setTimeout(onFail, GIVEN_UP_MS);
    return () => window.clearTimeout(timer);
    // Once for each terminal.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  return <div ref={host} className="pane-screen" />;
}
