/** A login that waits for its person: the page to open, and the code to enter there or the address
 *  to bring back. */

import { useState } from 'react';
import { Problem } from '../../api/call';
import { loginsApi, METHODS, type AgentLogin } from '../../api/logins';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { followable } from '../../terminal/screen/links';
import { Line } from '../parts/Field';
import { CopyLine } from '../parts/OnceShown';

interface WaitingProps {
  readonly login: AgentLogin;
  readonly onDone: () => void;
}

export function Waiting({ login, onDone }: WaitingProps) {
  const { agent, method, page, user_code: code } = login;
  if (page === '') return null;
  return (
    <div className="login-waits">
      <p>
        {method === METHODS.device
          ? t`1. Open ${(<PageLink page={page} />)} on any device. 2. Enter this code there:`
          : t`1. Open ${(<PageLink page={page} />)} and log in. 2. The browser then ends at an address that does not load: paste it here as a whole.`}
      </p>
      {method === METHODS.device ? (
        <CopyLine label={t`Code of ${agent}`} value={code} />
      ) : (
        <Paste login={login} onDone={onDone} />
      )}
    </div>
  );
}

/** The vendor's page; what is no address of the web is only read. */
function PageLink({ page }: { readonly page: string }) {
  const href = followable(page);
  if (href === null) return <code>{page}</code>;
  const { host } = new URL(href);
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={page}>
      {t`the page at ${host}`}
    </a>
  );
}

function Paste({ login, onDone }: WaitingProps) {
  const [redirect, setRedirect] = useState('');
  const [trouble, setTrouble] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function send(): Promise<void> {
    if (redirect.trim() === '') {
      setTrouble(t`Paste the whole address that the browser ended at.`);
      return;
    }
    setBusy(true);
    try {
      const after = await loginsApi.paste(login.id, redirect.trim());
      if (after.status === 'ready') notify(t`${login.agent} is logged in.`);
      setRedirect('');
    } catch (reason) {
      if (!(reason instanceof Problem)) throw reason;
      setTrouble(reason.message);
    } finally {
      setBusy(false);
      onDone();
    }
  }

  return (
    <form
      className="form-row login-paste"
      noValidate
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Line
        label={t`Address`}
        hint={t`It begins with http://localhost:1455/`}
        value={redirect}
        trouble={trouble}
        grow
        onChange={(text) => {
          setRedirect(text);
          setTrouble(null);
        }}
      />
      <button type="submit" className="button" disabled={busy}>
        {t`Finish the login`}
      </button>
    </form>
  );
}
