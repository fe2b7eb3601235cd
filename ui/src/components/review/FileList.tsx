/** The files that differ, by folder, with their counts of lines and whether they were seen. */

import { useEffect, useRef } from 'react';
import { t } from '../../language/t';
import { isAbout, type ReviewThread } from './threads';
import { sizesOf } from './ImagePair';
import type { ChangedFile } from './reviews';
import { visible } from '../../unseen';

interface FileListProps {
  readonly files: readonly ChangedFile[];
  readonly chosen: string | null;
  readonly isSeen: (file: ChangedFile) => boolean;
  /** The repository that the files are of, by its number. */
  readonly repo: number;
  readonly threads: readonly ReviewThread[];
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

export function FileList({ files, chosen, isSeen, repo, threads, onChoose }: FileListProps) {
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
                comments={openThreads(threads, repo, file)}
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

function openThreads(
  threads: readonly ReviewThread[],
  repo: number,
  { path, old_path: old }: ChangedFile,
): number {
  return threads.filter((one) => one.resolved === null && isAbout(one, repo, path, old)).length;
}

const folderOf = (path: string): string =>
  path.slice(0, path.replace(/\/$/, '').lastIndexOf('/') + 1);
const nameOf = (path: string): string => path.slice(folderOf(path).length);
