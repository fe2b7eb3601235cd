/** A person's Drive in a dialog: looked through, searched, and a file of it brought in.
 *
 * Names at Drive come from others: they are text.
 */

import { useEffect, useState, type SubmitEvent } from 'react';
import { Problem } from '../../api/call';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { Dialog } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Empty, Loading, Trouble } from '../parts/States';
import { sizeWords } from '../parts/words';
import { visible } from '../../unseen';
import { drives, type DriveFile, type DriveQuery } from './drive';
import { ConnectButton } from './DriveSection';
import '../../styles/drive.css';

interface DriveDialogProps {
  readonly sandbox: string;
  /** The directory of the workspace that the file comes to, empty for the workspace itself. */
  readonly folder: string;
  readonly onClose: () => void;
  readonly onBrought: () => void;
}

interface Step {
  readonly id: string;
  readonly name: string;
}

const TOP: Step = { id: 'root', name: 'My Drive' };

export function DriveDialog({ sandbox, folder, onClose, onBrought }: DriveDialogProps) {
  const [path, setPath] = useState<readonly Step[]>([TOP]);
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState<DriveFile | null>(null);
  const here = path.at(-1) ?? TOP;
  const where = folder === '' ? t`the workspace` : visible(folder);

  function enter(file: DriveFile): void {
    if (!file.folder) {
      setChosen(file);
      return;
    }
    setSearch('');
    setPath([...path, { id: file.id, name: file.name }]);
  }

  return (
    <Dialog title={t`From Drive to ${where}`} onClose={onClose} wide>
      <div className="drive">
        <SearchField key={search} before={search} onSearch={setSearch} />
        <Steps
          path={search === '' ? path : [TOP]}
          onStep={(number) => {
            setSearch('');
            setPath(path.slice(0, number + 1));
          }}
        />
        <Listing
          key={`${here.id} ${search}`}
          folder={here.id}
          name={search}
          chosen={chosen?.id ?? null}
          onChoose={enter}
        />
        {chosen !== null && (
          <Chosen
            key={chosen.id}
            file={chosen}
            {...{ sandbox, folder }}
            onBrought={() => {
              onBrought();
              onClose();
            }}
          />
        )}
      </div>
    </Dialog>
  );
}

interface SearchFieldProps {
  readonly before: string;
  readonly onSearch: (text: string) => void;
}

function SearchField({ before, onSearch }: SearchFieldProps) {
  const [text, setText] = useState(before);
  return (
    <form
      className="drive-search"
      role="search"
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <input
        type="search"
        aria-label={t`Search your Drive`}
        placeholder={t`Search your Drive by name`}
        maxLength={100}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button button-small">
        {t`Search`}
      </button>
    </form>
  );
}

interface StepsProps {
  readonly path: readonly Step[];
  readonly onStep: (number: number) => void;
}

function Steps({ path, onStep }: StepsProps) {
  return (
    <nav className="drive-steps" aria-label={t`Folders`}>
      {path.map((step, number) => (
        <button
          key={step.id}
          type="button"
          className="button button-small"
          aria-current={number === path.length - 1 ? 'location' : undefined}
          onClick={() => onStep(number)}
        >
          {visible(step.name)}
        </button>
      ))}
    </nav>
  );
}

interface ListingProps {
  readonly folder: string;
  readonly name: string;
  readonly chosen: string | null;
  readonly onChoose: (file: DriveFile) => void;
}

interface Listed {
  readonly files: readonly DriveFile[];
  /** The cursor of what follows, null at the end; undefined while nothing is there yet. */
  readonly next: string | null | undefined;
  readonly problem: Error | null;
}

function Listing({ folder, name, chosen, onChoose }: ListingProps) {
  const [listed, setListed] = useState<Listed>({ files: [], next: undefined, problem: null });
  const [asking, setAsking] = useState<DriveQuery>({ folder, name, cursor: '' });
  useEffect(() => {
    let gone = false;
    drives.files(asking).then(
      ({ files, next }) => {
        if (gone) return;
        setListed((before) => ({ files: [...before.files, ...files], next, problem: null }));
      },
      (reason: unknown) => {
        if (gone) return;
        const problem = reason instanceof Error ? reason : new Error(String(reason));
        setListed((before) => ({ ...before, problem }));
      },
    );
    return () => {
      gone = true;
    };
  }, [asking]);

  const { files, next, problem } = listed;
  if (problem !== null)
    return <Refused problem={problem} onRetry={() => setAsking({ ...asking })} />;
  if (next === undefined) return <Loading what={t`your Drive`} />;
  if (files.length === 0) {
    return <Empty icon="folder">{name === '' ? t`This folder is empty.` : t`No such name.`}</Empty>;
  }
  return (
    <ul className="drive-list" aria-label={t`Files at Drive`}>
      {files.map((file) => (
        <li key={file.id}>
          <button
            type="button"
            className="drive-row"
            disabled={!file.folder && !file.importable}
            aria-pressed={file.folder ? undefined : file.id === chosen}
            onClick={() => onChoose(file)}
          >
            <Icon name={file.folder ? 'folder' : 'file'} />
            <span className="drive-name">{visible(file.name)}</span>
            <span className="quiet">{sideOf(file)}</span>
          </button>
        </li>
      ))}
      {next !== null && (
        <li>
          <button
            type="button"
            className="button button-small"
            onClick={() => setAsking({ folder, name, cursor: next })}
          >
            {t`More`}
          </button>
        </li>
      )}
    </ul>
  );
}

function sideOf(file: DriveFile): string {
  if (file.folder) return '';
  if (!file.importable) return t`has no content`;
  return file.size === null ? (file.forms[0] ?? '') : sizeWords(file.size);
}

function Refused({ problem, onRetry }: { readonly problem: Error; readonly onRetry: () => void }) {
  const code = problem instanceof Problem ? problem.code : '';
  const apart = code === 'not_connected' || code === 'drive_ended';
  const retry = (
    <button type="button" className="button" onClick={onRetry}>
      {t`Try again`}
    </button>
  );
  return (
    <Trouble
      title={apart ? t`Your Google Drive is not connected` : t`Google Drive could not be asked`}
      act={apart ? <ConnectButton /> : code === 'no_drive' ? undefined : retry}
    >
      {apart ? t`Connect it once; then its files are here.` : problem.message}
    </Trouble>
  );
}

interface ChosenProps {
  readonly file: DriveFile;
  readonly sandbox: string;
  readonly folder: string;
  readonly onBrought: () => void;
}

type Bringing = { readonly is: 'idle' | 'busy' } | { readonly is: 'refused'; readonly why: Error };

function Chosen({ file, sandbox, folder, onBrought }: ChosenProps) {
  const [form, setForm] = useState(file.forms[0] ?? null);
  const [bringing, setBringing] = useState<Bringing>({ is: 'idle' });
  const busy = bringing.is === 'busy';
  const there =
    bringing.is === 'refused' && bringing.why instanceof Problem && bringing.why.code === 'exists';

  async function bring(replace: boolean): Promise<void> {
    setBringing({ is: 'busy' });
    const path = folder === '' ? '' : `${folder}/`;
    try {
      const entry = await drives.bring(sandbox, { file: file.id, path, form, replace });
      notify(t`${visible(entry.name)} is in the workspace.`);
      onBrought();
    } catch (reason) {
      const why = reason instanceof Error ? reason : new Error(String(reason));
      setBringing({ is: 'refused', why });
    }
  }

  return (
    <div className="drive-chosen" aria-live="polite">
      <p className="drive-name">{visible(file.name)}</p>
      {file.forms.length > 0 && (
        <label>
          {t`as`}{' '}
          <select value={form ?? ''} onChange={(event) => setForm(event.target.value)}>
            {file.forms.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
      <button
        type="button"
        className={there ? 'button button-destroy' : 'button button-primary'}
        disabled={busy}
        onClick={() => void bring(there)}
      >
        {busy ? t`On its way…` : there ? t`Replace what is there` : t`Import`}
      </button>
      {bringing.is === 'refused' && <p role="alert">{bringing.why.message}</p>}
    </div>
  );
}
