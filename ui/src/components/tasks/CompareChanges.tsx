/** What one agent of several changed: its files, and the lines of the one that is looked at in
 *  every column. */

import { isLive } from '../../state/acts';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { visible } from '../../unseen';
import { DiffView } from '../review/diff/DiffView';
import { FileList } from '../review/FileList';
import type { ChangedFile, Compared } from '../review/reviews';
import { useChanges, useDiff } from '../review/useReview';
import '../../styles/review.css';

const COMPARED: Compared = { repo: 0, against: 'base', checkpoint: null };

interface CompareChangesProps {
  readonly sandbox: Sandbox;
  /** The file that is looked at; null before one was chosen. */
  readonly path: string | null;
  readonly onPath: (path: string) => void;
}

export function CompareChanges({ sandbox, path, onPath }: CompareChangesProps) {
  const { value, problem } = useChanges(sandbox.sandbox_id, COMPARED, isLive(sandbox));
  if (value === null || value.files.length === 0) {
    return (
      <p className="compare-none quiet" role={problem === null ? undefined : 'alert'}>
        {problem ?? (value === null ? t`Loading…` : t`Nothing is changed.`)}
      </p>
    );
  }
  const wanted = path ?? value.files[0]?.path;
  const file = value.files.find((one) => one.path === wanted);
  return (
    <div className="compare-changes">
      <FileList
        files={value.files}
        chosen={file?.path ?? null}
        isSeen={nobodySaw}
        repo={COMPARED.repo}
        threads={NONE}
        onChoose={onPath}
      />
      {file === undefined ? (
        <p className="compare-none quiet">{t`${visible(wanted ?? '')} is not changed here.`}</p>
      ) : (
        <FileLines id={sandbox.sandbox_id} file={file} />
      )}
    </div>
  );
}

const NONE = [] as const;
const nobodySaw = (): boolean => false;
const nothing = (): void => undefined;
const savesNothing = (): Promise<boolean> => Promise.resolve(false);

function FileLines({ id, file }: { readonly id: string; readonly file: ChangedFile }) {
  const { value, problem } = useDiff(id, COMPARED, file, true);
  if (value === null || value.hunks.length === 0) {
    const why = value === null ? t`Loading…` : t`It has no lines to show.`;
    return <p className="compare-none quiet">{problem ?? why}</p>;
  }
  return (
    <DiffView
      file={value}
      split={false}
      sides={null}
      threads={NONE}
      editing={null}
      cursor={0}
      onRows={nothing}
      onEdit={null}
      onSave={savesNothing}
      acts={null}
      onDiscard={null}
    />
  );
}
