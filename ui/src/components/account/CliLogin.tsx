/** The page that `atoll login` opens: a command line elsewhere waits for its person's yes. */

import { useState } from 'react';
import { accountApi, type WaitingCliLogin } from '../../api/account';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { duration, secondsUntil, tick } from '../../state/clock';
import { login } from '../../state/login';
import { goTo, go } from '../../state/route';
import { useStore } from '../../state/store';
import { Page } from '../parts/Page';
import { useAnswer } from '../parts/useAnswer';

interface CliLoginProps {
  /** The code in the address. */
  readonly code: string | null;
  readonly onMenu: () => void;
}

export function CliLogin({ code, onMenu }: CliLoginProps) {
  const { value: waiting, problem } = useAnswer(accountApi.waitingCli, code ?? '');
  const [done, setDone] = useState(false);
  return (
    <Page title={t`A command line logs in`} onMenu={onMenu}>
      {problem !== null && <p role="alert">{problem.message}</p>}
      {done && <Confirmed />}
      {!done && waiting !== null && <Question {...{ waiting }} onDone={() => setDone(true)} />}
    </Page>
  );
}

interface QuestionProps {
  readonly waiting: WaitingCliLogin;
  readonly onDone: () => void;
}

function Question({ waiting, onDone }: QuestionProps) {
  const now = useStore(tick);
  const who = useStore(login);
  const [busy, setBusy] = useState(false);
  const { code, machine, address, expires_at: ends } = waiting;

  function confirm(): void {
    setBusy(true);
    accountApi
      .confirmCli(code)
      .then(onDone, notifyFailure(t`Not confirmed`))
      .finally(() => setBusy(false));
  }

  return (
    <section className="cli-question">
      <p>
        {t`${(<strong>{machine}</strong>)} at ${(<strong>{address}</strong>)} wants to act as ${(<strong>{who.is === 'in' ? who.name : t`you`}</strong>)}. Confirm only if you ran ${(<code>atoll login</code>)} there yourself a moment ago, and it shows this code:`}
      </p>
      <p className="cli-code">{code}</p>
      <p className="quiet">
        {t`It gets a token of yours, which your account lists and revokes. The question ends in ${duration(secondsUntil(ends, now))}.`}
      </p>
      <div className="welcome-acts">
        <button type="button" className="button button-primary" disabled={busy} onClick={confirm}>
          {t`Confirm`}
        </button>
        <button type="button" className="button" onClick={() => go(null)}>
          {t`This was not me`}
        </button>
      </div>
    </section>
  );
}

function Confirmed() {
  return (
    <section role="status">
      <p>{t`Confirmed: the command line is logged in. You can close this page.`}</p>
      <button type="button" className="button" onClick={() => goTo('account')}>
        {t`Your tokens`}
      </button>
    </section>
  );
}
