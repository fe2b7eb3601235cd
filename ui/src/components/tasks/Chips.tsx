/** The chips of a task's repository and branch: each says what is chosen, and opens to change it. */

import { useState } from 'react';
import { t } from '../../language/t';
import { sandboxes } from '../../state/sandboxes';
import { useStore } from '../../state/store';
import { Field } from '../parts/Field';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { sizeWords } from '../parts/words';
import { branchForAgent } from '../../state/tasks/branch';
import type { Source } from '../../state/tasks/choices';
import { branchOf, placeOf, type TaskDraft } from './draft';
import { repoName } from './plan';
import { useBeginning } from './useBeginning';
import { issueAddress } from './issues/issues';
import type { ComposerState } from './useComposer';

interface ChipProps {
  readonly state: ComposerState;
}

/** The looks of a chip that opens. */
function faceOf(chosen: boolean, bad: boolean): string {
  return ['chip', chosen && 'chip-on', bad && 'chip-bad'].filter(Boolean).join(' ');
}

export function RepositoryChip({ state }: ChipProps) {
  const { draft, offers, trouble } = state;
  const name = repoName(draft, offers.repositories);
  const words = name === '' ? t`no repository` : name;
  return (
    <Pop
      className={faceOf(name !== '', trouble?.field === 'repo_url')}
      label={t`Repository: ${words}`}
      summary={
        <>
          <Icon name="folder" />
          <span className="chip-words">{words}</span>
        </>
      }
    >
      {(close) => <RepositoryList state={state} onDone={close} />}
    </Pop>
  );
}

/** An address, or `owner/repo`. */
const ADDRESS = /^(https?:\/\/|git@|ssh:\/\/)\S+$|^[\w.-]+\/[\w.-]+$/;

function RepositoryList({ state, onDone }: ChipProps & { readonly onDone: () => void }) {
  const { draft, offers, choose, takeIssue } = state;
  const [text, setText] = useState(draft.repo === 'url' ? draft.url : '');
  const wanted = text.trim();
  const issue = issueAddress(wanted);
  const address = issue === null && ADDRESS.test(wanted);
  const found = offers.repositories.filter(({ name }) =>
    name.toLowerCase().includes(wanted.toLowerCase()),
  );
  const take = (source: Source): void => {
    choose(source);
    onDone();
  };
  const first = found[0];
  const takeTask = (task: string): void => {
    void takeIssue(task);
    onDone();
  };
  function onEnter(): void {
    if (issue !== null) takeTask(issue);
    else if (address) take({ repo: 'url', url: wanted });
    else if (first !== undefined) take({ repo: `key:${first.key}`, url: '' });
  }
  return (
    <div className="chip-list">
      <input
        aria-label={t`Find a repository, or paste an address`}
        placeholder={t`Find, or paste https://…, owner/repo or an issue`}
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          onEnter();
        }}
      />
      <ul aria-label={t`Repositories`}>
        {issue !== null && (
          <Choice
            words={wanted}
            note={t`as the task`}
            chosen={false}
            onChoose={() => takeTask(issue)}
          />
        )}
        {address && (
          <Choice
            words={wanted}
            note={t`by its address`}
            chosen={draft.repo === 'url' && draft.url === wanted}
            onChoose={() => take({ repo: 'url', url: wanted })}
          />
        )}
        {(address || issue !== null ? [] : found).map((one) => (
          <Choice
            key={one.key}
            words={one.name}
            note={sizeWords(one.bytes)}
            chosen={draft.repo === `key:${one.key}`}
            onChoose={() => take({ repo: `key:${one.key}`, url: '' })}
          />
        ))}
        {wanted === '' && (
          <Choice
            words={t`No repository`}
            note={t`an empty workspace`}
            chosen={draft.repo === ''}
            onChoose={() => take({ repo: '', url: '' })}
          />
        )}
        {!offers.listed && <li className="quiet">{t`Loading…`}</li>}
      </ul>
    </div>
  );
}

interface ChoiceProps {
  readonly words: string;
  readonly note: string;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}

function Choice({ words, note, chosen, onChoose }: ChoiceProps) {
  return (
    <li>
      <button type="button" className="chip-choice" aria-pressed={chosen} onClick={onChoose}>
        <span className="chip-words">{words}</span>
        <span className="quiet">{note}</span>
      </button>
    </li>
  );
}

export function BranchChip({ state }: ChipProps) {
  const { draft, offers, trouble } = state;
  const taken = useTaken();
  if (draft.repo === '') return null;
  const branch = branchOf(draft, taken);
  const from = draft.fromBranch.trim();
  const named = branch === '' ? t`a new branch` : branch;
  const words = from === '' ? named : `${from} → ${named}`;
  const bad = trouble?.field === 'branch' || trouble?.field === 'from_branch';
  return (
    <Pop
      className={faceOf(false, bad)}
      label={t`Branch: ${words}`}
      summary={
        <>
          <Icon name="branch" />
          <span className="chip-words">{words}</span>
        </>
      }
    >
      {() => <BranchFields {...{ state, branch }} place={placeOf(draft, offers.repositories)} />}
    </Pop>
  );
}

/** The branches of the sandboxes that are there: a proposed one is another. */
function useTaken(): ReadonlySet<string> {
  const list = useStore(sandboxes) ?? [];
  return new Set(list.flatMap(({ repos }) => repos.map(({ branch }) => branch)));
}

interface BranchFieldsProps extends ChipProps {
  readonly branch: string;
  readonly place: ReturnType<typeof placeOf>;
}

function BranchFields({ state, branch, place }: BranchFieldsProps) {
  const { draft, trouble, change } = state;
  const { words, look } = useBeginning(place, {
    branch: draft.branch ?? '',
    from: draft.fromBranch,
  });
  const at = (field: string): string | null => (trouble?.field === field ? trouble.text : null);
  return (
    <div className="chip-fields">
      <Field label={t`Branch`} hint={branchHint(draft, branch, words)} trouble={at('branch')}>
        {(props) => (
          <input
            {...props}
            autoComplete="off"
            spellCheck={false}
            value={draft.branch ?? branch}
            onFocus={look}
            onChange={(event) => change({ branch: event.target.value })}
          />
        )}
      </Field>
      <Field label={t`From branch`} hint={t`Left empty: the default`} trouble={at('from_branch')}>
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
  );
}

/** What becomes of the branch, and where it begins. */
function branchHint(draft: TaskDraft, branch: string, begins: string | null): string {
  const [first] = draft.agents;
  if (draft.agents.length < 2 || first === undefined || draft.bare)
    return begins ?? (draft.branch === null && !draft.bare ? t`Proposed from your words` : '');
  const own = t`Each agent has its own, as ${branchForAgent(branch || '…', first)}`;
  return begins === null ? own : `${own}. ${begins}`;
}
