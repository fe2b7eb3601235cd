/** The page where no server answers: what this browser keeps of it, until one does. */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { enterAgain } from '../../state/login';
import { Mark } from '../parts/icons';

const AGAIN_MS = 5000;

export function Away() {
  const [tries, setTries] = useState(false);
  useEffect(() => {
    const look = (): void => void enterAgain();
    const timer = window.setInterval(look, AGAIN_MS);
    window.addEventListener('online', look);
    return () => {
      window.clearInterval(timer);
      window.removeEventListener('online', look);
    };
  }, []);
  return (
    <main className="welcome">
      <div className="welcome-card" role="status">
        <Mark />
        <h1>{t`Atoll cannot be reached`}</h1>
        <p>
          {t`Sandboxes, terminals and agents go on without this page. It comes back by itself once the server answers.`}
        </p>
        <p className="quiet">{t`On your own machine: is “atoll up” running?`}</p>
        <div className="welcome-acts">
          <button
            type="button"
            className="button button-primary"
            disabled={tries}
            onClick={() => {
              setTries(true);
              void enterAgain().finally(() => setTries(false));
            }}
          >
            {tries ? t`Trying…` : t`Try again`}
          </button>
        </div>
      </div>
    </main>
  );
}
