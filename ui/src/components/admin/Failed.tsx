/** What could not be fetched, why, and the way to try again. */

import { t } from '../../language/t';

interface FailedProps {
  readonly what: string;
  readonly problem: string;
  readonly onRetry: () => void;
}

export function Failed({ what, problem, onRetry }: FailedProps) {
  return (
    <div className="admin-failed" role="alert">
      <p>
        <strong>{t`${what} could not be loaded.`}</strong> {problem}
      </p>
      <button type="button" className="button button-small" onClick={onRetry}>
        {t`Try again`}
      </button>
    </div>
  );
}
