/** The tab "Files" of a sandbox: its tree, and beside it the file that was chosen. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import { useRights } from '../../state/team/useRights';
import { panelOf } from '../parts/TabList';
import { FileExplorer, type Chosen } from './FileExplorer';
import { FileViewer } from './viewer/FileViewer';
import '../../styles/files.css';

export default function FilesPane({ sandbox }: { readonly sandbox: Sandbox }) {
  const { sandbox_id: id } = sandbox;
  const { works, owns } = useRights(id);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const live = isLive(sandbox);
  return (
    <div className="files" {...panelOf('files')}>
      <FileExplorer
        {...{ id, live, works, owns }}
        chosen={chosen?.place ?? null}
        onOpen={setChosen}
      />
      {chosen === null ? (
        <p className="files-empty quiet">
          {t`Choose a file to see it here. Drop files on a folder to upload them.`}
        </p>
      ) : (
        <FileViewer {...{ id, live, owns, chosen }} onOpen={setChosen} />
      )}
    </div>
  );
}
