/** The page until the server has said who is here: blank at first, and then that it waits. */

import { t } from '../../language/t';
import { Mark } from '../parts/icons';

export function Opening() {
  return (
    <main className="welcome welcome-late">
      <div className="welcome-card" role="status">
        <Mark />
        <h1>{t`Atoll has not answered yet`}</h1>
        <p>{t`The page waits for the server to say who is here.`}</p>
        <div className="welcome-acts">
          <button type="button" className="button" onClick={() => window.location.reload()}>
            {t`Reload`}
          </button>
        </div>
      </div>
    </main>
  );
}
