/** In the review: the work is marked as reviewed, and then merged. */

import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { useRights } from '../../state/team/useRights';
import { Icon } from '../parts/icons';
import { doWork, merging, workActsOf } from '../../state/work/acts';

interface ReviewActsProps {
  readonly sandbox: Sandbox;
  readonly repo: number;
}

export function ReviewActs({ sandbox, repo }: ReviewActsProps) {
  const { sandbox_id: id } = sandbox;
  const { manages } = useRights(id);
  const acts = manages ? workActsOf(sandbox) : [];
  const reviewed = acts.includes('unreview');
  return (
    <>
      {(reviewed || acts.includes('review')) && (
        <button
          type="button"
          className="button button-small"
          aria-pressed={reviewed}
          onClick={() => void doWork(sandbox, reviewed ? 'unreview' : 'review')}
        >
          {reviewed && <Icon name="review" />}
          {t`Reviewed`}
        </button>
      )}
      {acts.includes('merge') && (
        <button
          type="button"
          className="button button-small"
          onClick={() => merging.set({ sandbox: id, repo })}
        >
          {t`Merge…`}
        </button>
      )}
    </>
  );
}
