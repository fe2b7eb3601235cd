/** The ports of a sandbox on which something listens: to open, to link to, to close. */

import { useEffect } from 'react';
import type { Sandbox } from '../../api/types';
import { plural, t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { closePort, copyLink, loadPorts, openPort, ports } from '../../state/previews/ports';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

const LOOK_MS = 3_000;
const NONE: readonly number[] = [];

export function Ports({ sandbox }: { readonly sandbox: Sandbox }) {
  const count = (useStore(ports)[sandbox.sandbox_id] ?? NONE).length;
  return (
    <Pop
      summary={
        <>
          <Icon name="network" />
          {count === 0 ? t`ports` : plural(count, { one: '# port', other: '# ports' })}
        </>
      }
    >
      {() => <PortList id={sandbox.sandbox_id} />}
    </Pop>
  );
}

function PortList({ id }: { readonly id: string }) {
  const list = useStore(ports)[id] ?? NONE;
  useEffect(() => {
    const look = (): void => {
      loadPorts(id).catch(notifyFailure(t`The ports could not be read`));
    };
    look();
    // While it is shown: a server on a port that the log leaves out is found, too.
    const timer = window.setInterval(look, LOOK_MS);
    return () => window.clearInterval(timer);
  }, [id]);
  if (list.length === 0) {
    return (
      <p className="quiet">
        {t`Nothing listens inside. Start a server in a terminal, and it appears here.`}
      </p>
    );
  }
  return (
    <>
      <ul className="ports" aria-label={t`Ports on which something listens`}>
        {list.map((port) => (
          <li key={port}>
            <strong>{port}</strong>
            <button
              type="button"
              className="button button-small"
              aria-label={t`Open port ${port}`}
              onClick={() => void openPort(id, port)}
            >
              {t`Open`}
            </button>
            <button
              type="button"
              className="button-icon"
              aria-label={t`Copy a link to port ${port}`}
              title={t`Copy a link, good for one use`}
              onClick={() => void copyLink(id, port)}
            >
              <Icon name="copy" />
            </button>
            <button
              type="button"
              className="button-icon"
              aria-label={t`Close what is open of port ${port}`}
              title={t`End its links and open pages`}
              onClick={() => void closePort(id, port)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <p className="quiet">{t`Whoever opens a link acts there in your name.`}</p>
    </>
  );
}
