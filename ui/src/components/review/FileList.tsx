/** The files that differ, by folder, with their counts of lines and whether they were seen. */

import { useEffect, useRef } from 'react';
import { t } from '../../language/t';
import type { Comment } from './comments';
import { sizesOf } from './ImagePair';
import type { ChangedFile } from './reviews';
import { visible } from '../../unseen';

interface FileListProps {
  readonly files: readonly ChangedFile[];
  readonly chosen: string | null;
  readonly isSeen: (file: ChangedFile) => boolean;
  readonly comments: readonly Comment[];
  readonly onChoose: (path: string) => void;
}

const LETTERS: Readonly<Record<ChangedFile['kind'], string>> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  copied: 'C',
  retyped: 'T',
  unmerged: 'U',
};

export function FileList({ files, chosen, isSeen, comments, onChoose }: FileListProps) {
  return (
    <nav className="review-files" aria-label={t`Changed files`}>
      <ul>
        {files.map((file, i) => {
          const folder = folderOf(file.path);
          const shown = i === 0 || folder !== folderOf(files[i - 1]?.path ?? '');
          return (
            <li key={file.path}>
              {shown && folder !== '' && <p className="review-folder">{visible(folder)}</p>}
              <FileButton
                file={file}
                chosen={file.path === chosen}
                seen={isSeen(file)}
                comments={comments.filter(({ path }) => path === file.path).length}
                onChoose={onChoose}
              />
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

interface FileButtonProps {
  readonly file: ChangedFile;
  readonly chosen: boolean;
  readonly seen: boolean;
  readonly comments: number;
  readonly onChoose: (path: string) => void;
}

function FileButton({ file, chosen, seen, comments, onChoose }: FileButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (chosen) button.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const state = file.untracked ? t`new, not in git` : file.kind;
  return (
    <button
      ref={button}
      type="button"
      className={seen ? 'review-file review-seen' : 'review-file'}
      aria-current={chosen}
      title={visible(file.path)}
      onClick={() => onChoose(file.path)}
    >
      <span className={`review-kind review-${file.kind}`} title={state}>
        {file.untracked ? '?' : LETTERS[file.kind]}
      </span>
      <span className="review-name">{visible(nameOf(file.path))}</span>
      {comments > 0 && <span className="review-count">{comments} ✎</span>}
      {file.binary ? (
        <span className="quiet" title={sizesOf(file)}>
          {t`binary`}
        </span>
      ) : (
        <span className="review-lines">
          <span className="review-plus">+{file.additions}</span>{' '}
          <span className="review-minus">−{file.deletions}</span>
        </span>
      )}
      {seen && <span className="review-tick">{t`seen`}</span>}
    </button>
  );
}

const folderOf = (path: string): string =>
  path.slice(0, path.replace(/\/$/, '').lastIndexOf('/') + 1);
const nameOf = (path: string): string => path.slice(folderOf(path).length);
