/** The frame of the page: who is here, the rail, and what the rail leads to. */

import { Suspense, useCallback, useEffect, useState } from 'react';
import type { Sandbox } from './api/types';
import { Confirm } from './components/Dialog';
import { CreateDialog } from './components/CreateDialog';
import { Home } from './components/Home';
import { LoggedOut } from './components/LoggedOut';
import { Notices } from './components/Notices';
import { Palette } from './components/Palette';
import { Rail } from './components/Rail';
import { ConfirmAct, perform, SandboxView, type Act } from './components/SandboxView';
import { commandsOf } from './commands';
import { login, logOut } from './state/login';
import { route } from './state/route';
import { followSandboxes, sandboxes } from './state/sandboxes';
import { useStore } from './state/store';

/** What lies over the page; one thing at a time. */
type Over =
  | { readonly is: 'create'; readonly profile: string | null }
  | { readonly is: 'act'; readonly act: Act; readonly sandbox: Sandbox }
  | { readonly is: 'palette' }
  | { readonly is: 'logout' };

export function App() {
  const who = useStore(login);
  return (
    <>
      {who.is === 'in' && <Shell />}
      {who.is === 'out' && <LoggedOut why={who.why} />}
      <Notices />
    </>
  );
}

function Shell() {
  const list = useStore(sandboxes);
  const { sandbox: wanted } = useStore(route);
  const [over, setOver] = useState<Over | null>(null);
  const [menu, setMenu] = useState(false);
  const sandbox = list?.find((one) => one.sandbox_id === wanted || one.name === wanted) ?? null;

  useEffect(followSandboxes, []);
  useEffect(() => {
    document.title = sandbox === null ? 'Atoll' : `${sandbox.name} · Atoll`;
  }, [sandbox]);
  const onPalette = useCallback(() => setOver({ is: 'palette' }), []);
  const close = useCallback(() => setOver(null), []);
  useShortcuts(over === null, onPalette, () => setOver({ is: 'create', profile: null }));

  function onAct(act: Act): void {
    if (sandbox === null) return;
    if (act === 'start') void perform(sandbox, act);
    else setOver({ is: 'act', act, sandbox });
  }

  const onNew = (profile: string | null): void => setOver({ is: 'create', profile });
  return (
    <div className={menu ? 'shell shell-menu' : 'shell'}>
      <a className="skip" href="#main" onClick={skipToMain}>
        Skip to the sandbox
      </a>
      <Rail onNew={() => onNew(null)} onPalette={onPalette} onPick={() => setMenu(false)} />
      <button
        type="button"
        className="veil"
        aria-label="Close the list"
        onClick={() => setMenu(false)}
      />
      <div className="stage" id="main" tabIndex={-1}>
        {sandbox !== null ? (
          <Suspense>
            <SandboxView
              key={sandbox.sandbox_id}
              sandbox={sandbox}
              onAct={onAct}
              onPalette={onPalette}
              onMenu={() => setMenu(true)}
            />
          </Suspense>
        ) : (
          list !== null && (
            <Home missing={wanted !== null} onNew={onNew} onMenu={() => setMenu(true)} />
          )
        )}
      </div>
      {over?.is === 'create' && <CreateDialog profile={over.profile} onClose={close} />}
      {over?.is === 'act' && <ConfirmAct sandbox={over.sandbox} act={over.act} onClose={close} />}
      {over?.is === 'palette' && (
        <Palette
          onClose={close}
          commands={commandsOf({
            sandbox,
            list: list ?? [],
            onAct,
            onNew: () => onNew(null),
            onLogOut: () => setOver({ is: 'logout' }),
          })}
        />
      )}
      {over?.is === 'logout' && (
        <Confirm title="Log out?" action="Log out" onClose={close} onConfirm={() => void logOut()}>
          <p>Sandboxes and terminals go on. A new login link brings you back.</p>
        </Confirm>
      )}
    </div>
  );
}

function skipToMain(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Ctrl or Cmd with K, and N; a terminal and a text field keep their keys. */
function useShortcuts(enabled: boolean, onPalette: () => void, onNew: () => void): void {
  useEffect(() => {
    if (!enabled) return;
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest('.pane-screen') != null) return;
      if ((event.ctrlKey || event.metaKey) && event.code === 'KeyK') {
        event.preventDefault();
        onPalette();
      } else if (event.key === 'n' && !event.ctrlKey && !event.metaKey && !event.altKey) {
        if (target?.closest('input, textarea, select') != null) return;
        event.preventDefault();
        onNew();
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
}
