/** Logins of agents at their vendors: begun here, used by the person's sandboxes, ended here. */

import { useState } from 'react';
import { loginsApi, METHODS, type AgentLogin, type LoginStatus } from '../../api/logins';
import { plural, t, worded } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { agoWords, duration, secondsUntil, tick } from '../../state/clock';
import { useStore } from '../../state/store';
import { useBeat } from '../../state/workers/useBeat';
import { Confirm } from '../parts/Dialog';
import { Icon } from '../parts/icons';
import { Listed, useListed } from '../parts/Listed';
import { Empty } from '../parts/States';
import { ExposeDialog, useDoorless } from './ExposeDialog';
import { LoginDialog } from './LoginDialog';
import { Waiting } from './Waiting';

/** One that waits for its person is looked at this often, and others now and then. */
const LOOK_MS = 3_000;
const SELDOM_MS = 60_000;

const logins = (): Promise<readonly AgentLogin[]> => loginsApi.list();
const OPEN: readonly LoginStatus[] = ['requested', 'pending', 'ready'];
const isOpen = ({ status }: AgentLogin): boolean => OPEN.includes(status);
const waits = ({ status }: AgentLogin): boolean => status === 'requested' || status === 'pending';

type Over =
  { readonly is: 'new' } | { readonly is: 'use' | 'end' | 'expose'; readonly login: AgentLogin };

export function Logins() {
  const [over, setOver] = useState<Over | null>(null);
  const [waiting, setWaiting] = useState(false);
  const asked = useListed(logins, useBeat(waiting ? LOOK_MS : SELDOM_MS));
  const now = asked.list?.some(waits) ?? false;
  if (now !== waiting) setWaiting(now);
  const close = (): void => setOver(null);
  const doorless = useDoorless();

  function act(doIt: Promise<unknown>, done: string, failed: string): void {
    doIt.then(() => notify(done), notifyFailure(failed)).finally(asked.reload);
  }

  function turn({ id, agent }: AgentLogin, on: boolean): void {
    act(
      loginsApi.use(id, on),
      on ? t`Your sandboxes of ${agent} use this login.` : t`No sandbox uses this login any more.`,
      t`The login was not changed`,
    );
  }

  return (
    <section aria-label={t`Logins of agents`}>
      <div className="team-head">
        <h2>{t`Logins of agents`}</h2>
        <button
          type="button"
          className="button button-small"
          onClick={() => setOver({ is: 'new' })}
        >
          <Icon name="plus" />
          {t`Log an agent in`}
        </button>
      </div>
      <Listed
        asked={asked}
        what={t`logins of agents`}
        empty={
          <Empty icon="agent">
            {t`No login. Log in once at an agent’s vendor, and your sandboxes of that agent work with it; its tokens stay outside of them.`}
          </Empty>
        }
      >
        {(list) => (
          <Lists
            list={list}
            onReload={asked.reload}
            onTurn={(login) => (login.in_use ? turn(login, false) : setOver({ is: 'use', login }))}
            onEnd={(login) => setOver({ is: 'end', login })}
            onExpose={doorless.length > 0 ? (login) => setOver({ is: 'expose', login }) : null}
            onConceal={({ id }) =>
              act(
                loginsApi.expose(id, []),
                t`No new token of it goes inside. One that is there works until its end.`,
                t`The login was not changed`,
              )
            }
          />
        )}
      </Listed>
      <Exposing over={over} doorless={doorless} onClose={close} onDone={asked.reload} />
      {over?.is === 'new' && <LoginDialog onClose={close} onDone={asked.reload} />}
      {over?.is === 'use' && (
        <Confirm
          title={t`Use this login of ${over.login.agent}?`}
          action={t`My plan allows it`}
          onClose={close}
          onConfirm={() => turn(over.login, true)}
        >
          <p>
            {t`All your sandboxes of ${over.login.agent} work with it, and another login of it is turned off. Your plan must allow to be used so: read your vendor’s terms first.`}
          </p>
        </Confirm>
      )}
      {over?.is === 'end' && (
        <Confirm
          title={t`End this login of ${over.login.agent}?`}
          action={t`End it`}
          danger
          onClose={close}
          onConfirm={() =>
            act(
              loginsApi.end(over.login.id),
              t`The login of ${over.login.agent} has ended.`,
              t`The login was not ended`,
            )
          }
        >
          <p>
            {t`It ends here and at its vendor, and its tokens are forgotten. Sandboxes that use it have no login then.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface ExposingProps {
  readonly over: Over | null;
  readonly doorless: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Exposing({ over, ...rest }: ExposingProps) {
  return over?.is === 'expose' ? <ExposeDialog login={over.login} {...rest} /> : null;
}

interface ListsProps {
  readonly list: readonly AgentLogin[];
  readonly onReload: () => void;
  readonly onTurn: (login: AgentLogin) => void;
  readonly onEnd: (login: AgentLogin) => void;
  readonly onConceal: (login: AgentLogin) => void;
  /** Null where every backend has doors, which serve it. */
  readonly onExpose: ((login: AgentLogin) => void) | null;
}

/** The newest first; those that ended are folded away. */
function Lists({ list, ...calls }: ListsProps) {
  const open = list.filter(isOpen).reverse();
  const ended = list.filter((one) => !isOpen(one)).reverse();
  const rows = (some: readonly AgentLogin[], label: string) => (
    <ul className="secrets" aria-label={label}>
      {some.map((one) => (
        <Row key={one.id} login={one} {...calls} />
      ))}
    </ul>
  );
  return (
    <>
      {open.length > 0 && rows(open, t`Logins of agents`)}
      {ended.length > 0 && (
        <details className="composer-more logins-ended" open={open.length === 0}>
          <summary>{plural(ended.length, { one: '# that ended', other: '# that ended' })}</summary>
          {rows(ended, t`Logins that ended`)}
        </details>
      )}
    </>
  );
}

const STATUSES = worded<Readonly<Record<LoginStatus, { words: string; badge: string }>>>(() => ({
  requested: { words: t`begins`, badge: 'badge badge-warn' },
  pending: { words: t`waits for you`, badge: 'badge badge-warn' },
  ready: { words: t`ready`, badge: 'badge badge-ok' },
  denied: { words: t`refused`, badge: 'badge badge-bad' },
  expired: { words: t`not confirmed in time`, badge: 'badge' },
  failed: { words: t`failed`, badge: 'badge badge-bad' },
  revoked: { words: t`ended`, badge: 'badge' },
}));

function methodWords(method: number): string {
  if (method === METHODS.key) return t`by a key`;
  return method === METHODS.device ? t`by a code` : t`in a browser`;
}

type RowProps = Omit<ListsProps, 'list'> & { readonly login: AgentLogin };

function Row({ login, onReload, onTurn, onEnd, onConceal, onExpose }: RowProps) {
  const now = useStore(tick);
  const { agent, status, reason, in_use: used, token_ref: token, scopes, created_at: made } = login;
  const { words, badge } = STATUSES()[status];
  const notes = [
    methodWords(login.method),
    login.provider,
    expiryWords(login, now),
    scopes.length === 0 ? '' : t`for ${scopes.join(', ')}`,
    t`begun ${agoWords(made, now)}`,
  ];
  return (
    <li className="secret" data-login={status}>
      <div className="secret-words">
        <p className="secret-name">
          {agent}
          <span className={badge}>{words}</span>
          {isOpen(login) && used && <span className="badge badge-ok">{t`in use`}</span>}
        </p>
        <p className="quiet">{notes.filter((one) => one !== '').join(' · ')}</p>
        <Exposed login={login} />
        {reason !== '' && <p className={status === 'failed' ? 'pop-bad' : 'quiet'}>{reason}</p>}
      </div>
      <p className="secret-print" title={t`The secret that holds its tokens; nobody reads it`}>
        {token}
      </p>
      {isOpen(login) && (
        <div className="secret-acts">
          <button
            type="button"
            className="button button-small"
            aria-label={used ? t`Turn off: ${agent}` : t`Use it: ${agent}`}
            onClick={() => onTurn(login)}
          >
            {used ? t`Turn off` : t`Use it`}
          </button>
          <PutInside login={login} onExpose={onExpose} />
          <TakeBack login={login} onConceal={onConceal} />
          <button
            type="button"
            className="button button-small button-destroy"
            aria-label={t`End the login of ${agent}…`}
            onClick={() => onEnd(login)}
          >
            {t`End…`}
          </button>
        </div>
      )}
      {waits(login) && <Waiting login={login} onDone={onReload} />}
    </li>
  );
}

/** Where its access token lies inside, by its owner's own act. */
function Exposed({ login }: { readonly login: AgentLogin }) {
  if (!isOpen(login) || login.exposed_to.length === 0) return null;
  const places = login.exposed_to.join(', ');
  return (
    <p className="pop-bad">{t`Its access token is inside ${places}: everything there can use it.`}</p>
  );
}

function PutInside({ login, onExpose }: Pick<RowProps, 'login' | 'onExpose'>) {
  const { agent, status, method } = login;
  if (onExpose === null || status !== 'ready' || method === METHODS.key) return null;
  return (
    <button
      type="button"
      className="button button-small"
      aria-label={t`Put the token of ${agent} inside…`}
      onClick={() => onExpose(login)}
    >
      {t`Put inside…`}
    </button>
  );
}

function TakeBack({ login, onConceal }: Pick<RowProps, 'login' | 'onConceal'>) {
  if (login.exposed_to.length === 0) return null;
  return (
    <button
      type="button"
      className="button button-small"
      aria-label={t`Take ${login.agent} back from inside`}
      onClick={() => onConceal(login)}
    >
      {t`Take it back`}
    </button>
  );
}

/** When its token ends; a key has no end. */
function expiryWords({ status, expires_at: end }: AgentLogin, now: number): string {
  if (status !== 'ready' || end === null) return '';
  const seconds = secondsUntil(end, now);
  return seconds <= 0 ? t`its token is being renewed` : t`renewed within ${duration(seconds)}`;
}
