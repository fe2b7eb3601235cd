/** Over the changes: the work is in conflict, and the ways to go on. */

import type { Sandbox, Schemas } from '../../api/types';
import { plural, t, worded } from '../../language/t';
import { useRights } from '../../state/team/useRights';
import { workStateOf } from '../../state/standing';
import { visible } from '../../unseen';
import { Icon } from '../parts/icons';
import { ConflictActs } from './ConflictActs';
import '../../styles/work.css';

type Conflict = Schemas['ConflictView'];

const STOPPED = worded<Readonly<Record<Conflict['kind'], (onto: string) => string>>>(() => ({
  rebase: (onto) => t`A rebase onto ${onto} stopped at a conflict.`,
  merge: (onto) => t`A merge of ${onto} stopped at a conflict.`,
  cherry_pick: (onto) => t`A cherry-pick of ${onto} stopped at a conflict.`,
  revert: (onto) => t`A revert of ${onto} stopped at a conflict.`,
}));

export function ConflictNote({ sandbox }: { readonly sandbox: Sandbox }) {
  const { manages } = useRights(sandbox.sandbox_id);
  const conflict = sandbox.work?.conflict ?? null;
  if (conflict === null || workStateOf(sandbox) !== 'in_conflict') return null;
  const { kind, onto, repo } = conflict;
  return (
    <section className="conflict" aria-label={t`In conflict`}>
      <Icon name="branch" />
      <p>
        <strong>{STOPPED()[kind](onto === '' ? t`another branch` : visible(onto))}</strong>{' '}
        {filesLeft(conflict)}
      </p>
      {manages && <ConflictActs {...{ sandbox, repo, kind }} />}
    </section>
  );
}

function filesLeft({ files, more }: Conflict): string {
  const count = files.length + more;
  if (count === 0) return t`No file is in conflict any more: it waits to be continued.`;
  return plural(count, { one: '# file is in conflict.', other: '# files are in conflict.' });
}
