/** What stands where nothing is, what comes and goes, and what lies over the page. */

import { useState } from 'react';
import { Broken } from '../components/frame/Broken';
import { Confirm, Dialog } from '../components/parts/Dialog';
import { Missing } from '../components/parts/later';
import { CutOff, Empty, Loading, Trouble } from '../components/parts/States';
import { notify } from '../state/announce';
import { keep } from './Controls';
import { Specimen, Specimens } from './Specimens';

export function Blanks() {
  const retry = (
    <button type="button" className="button button-small">
      Try again
    </button>
  );
  return (
    <Specimens title="Empty, loading, failed, cut off">
      <Specimen state="loading" wide>
        <Loading what="the example" />
      </Specimen>
      <Specimen state="empty" wide>
        <Empty icon="key" act={retry}>
          No secrets yet. An agent asks for what it lacks.
        </Empty>
      </Specimen>
      <Specimen state="failed" wide>
        <Trouble title="The changes could not be read" act={retry}>
          The sandbox does not answer.
        </Trouble>
      </Specimen>
      <Specimen state="a part of the page that is missing" wide>
        <Missing />
      </Specimen>
      <Specimen state="disconnected" wide>
        <CutOff act={retry}>Offline: what you see may be old.</CutOff>
      </Specimen>
    </Specimens>
  );
}

export function Feedback() {
  return (
    <Specimens title="Notices">
      <Specimen state="that something is done">
        <button type="button" className="button" onClick={() => notify('Copied.')}>
          Show
        </button>
      </Specimen>
      <Specimen state="that something failed">
        <button
          type="button"
          className="button"
          onClick={() => notify('The name was not changed: it is taken.', 'bad')}
        >
          Show one that failed
        </button>
      </Specimen>
      <Specimen state="with a way back">
        <button
          type="button"
          className="button"
          onClick={() =>
            notify('Closed “tests”.', 'plain', {
              words: 'Undo',
              run: () => notify('Opened again.'),
            })
          }
        >
          Show one with a way back
        </button>
      </Specimen>
    </Specimens>
  );
}

type Over = 'dialog' | 'confirm' | 'broken';

export function Overlays() {
  const [over, setOver] = useState<Over | null>(null);
  const close = (): void => setOver(null);
  return (
    <Specimens title="Over the page">
      <Specimen state="a dialog">
        <button type="button" className="button" onClick={() => setOver('dialog')}>
          Open
        </button>
      </Specimen>
      <Specimen state="a question before an end">
        <button type="button" className="button" onClick={() => setOver('confirm')}>
          Ask
        </button>
      </Specimen>
      <Specimen state="the page broke">
        <button type="button" className="button" onClick={() => setOver('broken')}>
          Break it
        </button>
      </Specimen>
      {over === 'dialog' && (
        <Dialog title="Share this terminal" onClose={close}>
          <p className="dialog-text">A dialog closes by Escape, and gives the focus back.</p>
        </Dialog>
      )}
      {over === 'confirm' && (
        <Confirm title="Destroy example?" action="Destroy" danger onClose={close} onConfirm={keep}>
          <p>The safe answer has the focus.</p>
        </Confirm>
      )}
      {over === 'broken' && (
        <Dialog title="The page broke" onClose={close} wide>
          <Broken message="An example: nothing is broken." />
        </Dialog>
      )}
    </Specimens>
  );
}
