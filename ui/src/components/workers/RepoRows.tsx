/** The repositories of a new worker: any number of them, by address or already here. */

import { useRef } from 'react';
import type { Repository } from '../../api/types';
import { t } from '../../language/t';
import { MOST_REPOS, type RepoDraft } from '../../state/workers/draft';
import { Choice, Line } from '../parts/Field';
import { Icon } from '../parts/icons';
import { sizeWords } from '../parts/words';

interface RepoRowsProps {
  readonly repos: readonly RepoDraft[];
  readonly known: readonly Repository[];
  readonly at: (field: string) => string | null;
  readonly onChange: (repos: readonly RepoDraft[]) => void;
}

export function RepoRows({ repos, known, at, onChange }: RepoRowsProps) {
  const group = useRef<HTMLFieldSetElement>(null);
  const add = useRef<HTMLButtonElement>(null);
  const focusing = useRef(0);

  function begin(): void {
    const row = Math.max(0, ...repos.map((one) => one.row)) + 1;
    onChange([...repos, { row, known: '', url: '', branch: '', fromBranch: '' }]);
    // Once it is there.
    focusing.current = requestAnimationFrame(() => {
      const rows = group.current?.querySelectorAll('.worker-repo') ?? [];
      [...rows].at(-1)?.querySelector<HTMLElement>('input, select')?.focus();
    });
  }

  function end(row: number): void {
    onChange(repos.filter((one) => one.row !== row));
    // A row that was added a moment before takes no focus any more.
    cancelAnimationFrame(focusing.current);
    add.current?.focus();
  }

  return (
    <fieldset className="form-group" ref={group}>
      <legend>{t`Repositories`}</legend>
      {repos.map((one, index) => (
        <div
          key={one.row}
          className="worker-repo"
          role="group"
          aria-label={t`Repository ${index + 1}`}
        >
          <Row
            repo={one}
            known={known}
            at={at}
            onChange={(part) =>
              onChange(repos.map((now) => (now.row === one.row ? { ...now, ...part } : now)))
            }
          />
          <button
            type="button"
            className="button-icon"
            aria-label={t`Remove repository ${index + 1}`}
            title={t`Remove`}
            onClick={() => end(one.row)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <div>
        <button
          ref={add}
          type="button"
          className="button button-small"
          disabled={repos.length >= MOST_REPOS}
          onClick={begin}
        >
          <Icon name="plus" />
          {t`Add a repository`}
        </button>
      </div>
    </fieldset>
  );
}

interface RowProps {
  readonly repo: RepoDraft;
  readonly known: readonly Repository[];
  readonly at: (field: string) => string | null;
  readonly onChange: (part: Partial<RepoDraft>) => void;
}

function Row({ repo, known, at, onChange }: RowProps) {
  const trouble = at(`${repo.row}.url`);
  return (
    <div className="worker-repo-fields">
      <div className="form-row">
        {known.length > 0 && (
          <Choice
            label={t`Which`}
            value={repo.known}
            trouble={repo.known === '' ? null : trouble}
            onChange={(key) => onChange({ known: key })}
          >
            <option value="">{t`By address`}</option>
            {known.map(({ key, name, bytes }) => (
              <option key={key} value={key}>
                {t`${name} (${sizeWords(bytes)})`}
              </option>
            ))}
          </Choice>
        )}
        {repo.known === '' && (
          <Line
            label={t`Address`}
            hint={t`https://… or owner/repo`}
            value={repo.url}
            trouble={trouble}
            grow
            onChange={(url) => onChange({ url })}
          />
        )}
      </div>
      <div className="form-row">
        <Line
          label={t`Branch`}
          hint={t`Made if it is new`}
          value={repo.branch}
          trouble={at(`${repo.row}.branch`)}
          onChange={(branch) => onChange({ branch })}
        />
        <Line
          label={t`From branch`}
          hint={t`Left empty: the default`}
          value={repo.fromBranch}
          trouble={at(`${repo.row}.fromBranch`)}
          onChange={(fromBranch) => onChange({ fromBranch })}
        />
      </div>
    </div>
  );
}
