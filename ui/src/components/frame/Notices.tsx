/** Messages that come and go, and the live region for what is only spoken. */

import { t } from '../../language/t';
import { dismiss, notices, spoken } from '../../state/announce';
import { useStore } from '../../state/store';
import { Icon } from '../parts/icons';

export function Notices() {
  const list = useStore(notices);
  const words = useStore(spoken);
  return (
    <>
      <p className="spoken" role="status" aria-live="polite">
        {words}
      </p>
      <ol className="notices" aria-live="polite">
        {list.map((notice) => (
          <li key={notice.id} className={`notice notice-${notice.tone}`}>
            <span>{notice.text}</span>
            {notice.act !== undefined && (
              <button
                type="button"
                className="button button-small"
                onClick={() => {
                  dismiss(notice.id);
                  notice.act?.run();
                }}
              >
                {notice.act.words}
              </button>
            )}
            <button
              type="button"
              className="button-icon"
              aria-label={t`Dismiss`}
              onClick={() => dismiss(notice.id)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}
