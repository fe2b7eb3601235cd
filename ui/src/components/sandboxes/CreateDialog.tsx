/** Asks what a new sandbox should be, and shows what the server says at the right field. */

import { useEffect, useState } from 'react';
import { Problem } from '../../api/call';
import { api } from '../../api/client';
import type { CreateSandbox, Extension, NetworkMode, Profile, Repository } from '../../api/types';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import { fittingLife, livesOf } from './lifetime';
import { withProject } from '../../state/project';
import { go } from '../../state/route';
import { keep } from '../../state/sandboxes';
import { Dialog } from '../parts/Dialog';
import { Field, type FieldName, fieldOf } from '../parts/Field';
import { isUsable } from './BlockedProfiles';
import { ProfilePicker } from './ProfilePicker';
import { Segments } from '../parts/Segments';
import type { RepositoryPlace } from '../tasks/beginning';
import { SharedChoice } from '../tasks/SharedChoice';
import { useBeginning } from '../tasks/useBeginning';
import { Wants } from './Wants';
import { profileWords, sizeWords } from '../parts/words';

interface Draft {
  readonly profile: string;
  readonly source: 'none' | 'url' | 'known';
  readonly url: string;
  readonly known: string;
  readonly branch: string;
  readonly fromBranch: string;
  readonly name: string;
  readonly ttl: string;
  readonly network: string;
  readonly shared: boolean;
}

const EMPTY: Draft = {
  profile: '',
  source: 'none',
  url: '',
  known: '',
  branch: '',
  fromBranch: '',
  name: '',
  ttl: '',
  network: '',
  shared: false,
};

const NETWORKS = worded(() => [
  { value: '', words: t`As the profile says` },
  { value: 'none', words: t`None` },
  { value: 'limited', words: t`Limited to the profile’s list` },
  { value: 'host-only', words: t`Chosen ports of this machine` },
  { value: 'full', words: t`Any public address` },
]);

interface Trouble {
  readonly field: FieldName | null;
  readonly text: string;
}

interface CreateDialogProps {
  /** A profile chosen beforehand. */
  readonly profile: string | null;
  readonly onClose: () => void;
}

export function CreateDialog({ profile, onClose }: CreateDialogProps) {
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, profile: profile ?? '' });
  const [profiles, setProfiles] = useState<readonly Profile[] | null>(null);
  const [known, setKnown] = useState<readonly Repository[]>([]);
  const [extensions, setExtensions] = useState<readonly Extension[]>([]);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [busy, setBusy] = useState(false);
  // One key per draft that was sent: a repeated click or a lost answer makes no second one.
  const [key, setKey] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'));

  useEffect(() => {
    api.profiles().then(
      (list) => {
        setProfiles(list);
        setDraft((now) => ({ ...now, profile: now.profile || (list.find(isUsable)?.id ?? '') }));
      },
      (reason: unknown) => setTrouble(troubleOf(reason)),
    );
    api.repositories().then(setKnown, () => setKnown([]));
    api.extensions().then(setExtensions, () => setExtensions([]));
  }, []);

  function change(part: Partial<Draft>): void {
    setDraft((now) => ({ ...now, ...part }));
    setKey(crypto.getRandomValues(new Uint32Array(4)).join('-'));
    setTrouble(null);
  }

  async function submit(event: { preventDefault: () => void }): Promise<void> {
    event.preventDefault();
    if (draft.source === 'url' && draft.url.trim() === '') {
      setTrouble({ field: 'repo_url', text: t`Give the address of a repository, or choose none.` });
      return;
    }
    setBusy(true);
    try {
      const made = await api.create(await withProject(bodyOf(draft, known)), key);
      keep(made);
      notify(t`${made.name} is on its way.`);
      onClose();
      go(made.sandbox_id);
    } catch (reason) {
      setTrouble(troubleOf(reason));
      setBusy(false);
    }
  }

  const named = (wanted: string): Profile | undefined =>
    profiles?.find(({ id }) => [id, profileWords(id)].includes(wanted));
  const chosen = named(draft.profile);
  const at = (field: FieldName): string | null => (trouble?.field === field ? trouble.text : null);

  return (
    <Dialog title={t`New sandbox`} onClose={onClose} wide>
      <form className="form" noValidate onSubmit={(event) => void submit(event)}>
        {trouble?.field === null && (
          <p className="form-trouble" role="alert">
            {trouble.text}
          </p>
        )}
        <ProfilePicker
          profiles={profiles}
          chosen={draft.profile}
          trouble={at('profile')}
          onChoose={(id) => change({ profile: id, ttl: fittingLife(draft.ttl, named(id)) })}
        />
        {chosen !== undefined && <Wants profile={chosen} extensions={extensions} />}
        <SourceFields draft={draft} known={known} at={at} change={change} />
        <div className="form-row">
          <Field
            label={t`Name`}
            hint={t`Left empty: made from repository and branch`}
            trouble={at('name')}
          >
            {(props) => (
              <input
                {...props}
                value={draft.name}
                autoComplete="off"
                onChange={(event) => change({ name: event.target.value })}
              />
            )}
          </Field>
          <Select
            label={t`Lives for`}
            value={draft.ttl}
            options={[
              { value: '', words: t`As the profile says` },
              ...livesOf(chosen).map(({ ttl, words }) => ({ value: ttl, words })),
            ]}
            trouble={at('ttl')}
            onChange={(ttl) => change({ ttl })}
          />
          <Select
            label={t`Network`}
            value={draft.network}
            options={NETWORKS()}
            trouble={at('network_mode')}
            onChange={(network) => change({ network })}
          />
        </div>
        <SharedChoice shared={draft.shared} onChange={(shared) => change({ shared })} />
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            {t`Cancel`}
          </button>
          <button
            type="submit"
            className="button button-primary"
            disabled={busy || draft.profile === ''}
          >
            {busy ? t`Creating…` : t`Create sandbox`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface SourceProps {
  readonly draft: Draft;
  readonly known: readonly Repository[];
  readonly at: (field: FieldName) => string | null;
  readonly change: (part: Partial<Draft>) => void;
}

function SourceFields({ draft, known, at, change }: SourceProps) {
  const typed = { branch: draft.branch, from: draft.fromBranch };
  const { words, look } = useBeginning(placeOf(draft, known), typed);
  const sources: readonly { value: Draft['source']; words: string }[] = [
    { value: 'none', words: t`None` },
    { value: 'url', words: t`By address` },
    ...(known.length > 0 ? [{ value: 'known' as const, words: t`Already here` }] : []),
  ];
  return (
    <div className="form-group">
      <Segments
        legend={t`Repository`}
        choices={sources}
        chosen={draft.source}
        onChoose={(source) =>
          change({
            source,
            ...(source === 'known' ? { known: draft.known || (known[0]?.key ?? '') } : {}),
          })
        }
      />
      {draft.source !== 'none' && (
        <div className="form-row">
          {draft.source === 'url' ? (
            <Field
              label={t`Address`}
              hint={t`https://… or owner/repo`}
              trouble={at('repo_url')}
              grow
            >
              {(props) => (
                <input
                  {...props}
                  type="text"
                  inputMode="url"
                  placeholder={t`https://github.com/owner/repo`}
                  autoComplete="off"
                  spellCheck={false}
                  value={draft.url}
                  onChange={(event) => change({ url: event.target.value })}
                />
              )}
            </Field>
          ) : (
            <Select
              label={t`Which`}
              value={draft.known}
              options={known.map((repo) => ({ value: repo.key, words: knownWords(repo) }))}
              trouble={at('repo_url')}
              onChange={(chosen) => change({ known: chosen })}
            />
          )}
          <Field label={t`Branch`} hint={words ?? t`Made if it is new`} trouble={at('branch')}>
            {(props) => (
              <input
                {...props}
                autoComplete="off"
                spellCheck={false}
                value={draft.branch}
                onFocus={look}
                onChange={(event) => change({ branch: event.target.value })}
              />
            )}
          </Field>
          <Field
            label={t`From branch`}
            hint={t`Left empty: the default`}
            trouble={at('from_branch')}
          >
            {(props) => (
              <input
                {...props}
                autoComplete="off"
                spellCheck={false}
                value={draft.fromBranch}
                onChange={(event) => change({ fromBranch: event.target.value })}
              />
            )}
          </Field>
        </div>
      )}
    </div>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly words: string }[];
  readonly trouble: string | null;
  readonly onChange: (value: string) => void;
}

function Select({ label, value, options, trouble, onChange }: SelectProps) {
  return (
    <Field label={label} trouble={trouble}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function knownWords(repo: Repository): string {
  return `${repo.name} (${sizeWords(repo.bytes)})`;
}

function bodyOf(draft: Draft, known: readonly Repository[]): CreateSandbox {
  return {
    profile: draft.profile,
    repos: reposOf(draft, known),
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    ...(draft.ttl === '' ? {} : { ttl: draft.ttl }),
    ...(draft.network === '' ? {} : { network_mode: draft.network as NetworkMode }),
    ...(draft.shared ? { scope: 'shared' as const } : {}),
    consumer: { actor: 'adm', harness: 'atoll-page' },
  };
}

function reposOf(draft: Draft, known: readonly Repository[]): NonNullable<CreateSandbox['repos']> {
  if (draft.source === 'none') return [];
  const here = draft.source === 'known' ? known.find(({ key }) => key === draft.known) : undefined;
  return [
    {
      repo_url: here === undefined ? draft.url.trim() : addressOf(here),
      branch: draft.branch.trim() || null,
      from_branch: draft.fromBranch.trim() || null,
      key: here?.key ?? null,
    },
  ];
}

function placeOf(draft: Draft, known: readonly Repository[]): RepositoryPlace | null {
  if (draft.source === 'none') return null;
  const here = draft.source === 'known' ? known.find(({ key }) => key === draft.known) : undefined;
  return { key: here?.key ?? null, address: here?.repo_url ?? draft.url.trim() };
}

/** The default name comes from it; a checkout without an origin has a name only. */
function addressOf(repo: Repository): string | null {
  return repo.repo_url || (repo.name ? `local/${repo.name}` : null);
}

function troubleOf(reason: unknown): Trouble {
  if (!(reason instanceof Problem)) throw reason;
  return { field: fieldOf(reason.field), text: reason.message };
}
