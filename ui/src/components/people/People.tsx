/** Who is at a terminal, who drives it, and handing control on. */

import { plural, t } from '../../language/t';
import type { AttachStatus } from '../../terminal/attach/status';
import { everybody, type Control, type Party } from '../../terminal/attach/party';
import type { TerminalView } from '../../terminal/screen/view';
import { pointersShown, showPointers } from '../../terminal/layout/layouts';
import { useStore } from '../../state/store';
import { Avatar } from '../parts/Avatar';
import { Pop } from '../parts/Pop';

interface PeopleProps {
  readonly status: AttachStatus;
  readonly view: TerminalView | null;
}

const SHOWN = 4;

export function People({ status, view }: PeopleProps) {
  const { control, me } = status;
  if (control === null) return null;
  const all = everybody(control);
  if (all.length === 0) return null;
  const more = all.length - SHOWN;
  const summary = (
    <>
      <span className="avatars">
        {all.slice(0, SHOWN).map((party) => (
          <Avatar key={party.client} {...party} drives={isDriver(control, party)} />
        ))}
        {more > 0 && <span className="avatars-more">+{more}</span>}
      </span>
      <span className="spoken">
        {plural(all.length, { one: '# person is here', other: '# people are here' })}
      </span>
    </>
  );
  return (
    <Pop summary={summary}>
      {(close) => (
        <>
          <ul className="people" aria-label={t`People at this terminal`}>
            {all.map((party) => (
              <li key={party.client}>
                <Avatar {...party} drives={isDriver(control, party)} />
                <span className="people-name">
                  {party.name}
                  {party.client === me?.client && <span className="quiet"> {t`(you)`}</span>}
                  <span className="people-note">{noteOf(control, party)}</span>
                </span>
                {mayGive(status, party) && (
                  <button
                    type="button"
                    className="button button-small"
                    onClick={() => {
                      close();
                      view?.grantControl(party.client);
                    }}
                  >
                    {t`Give control`}
                  </button>
                )}
              </li>
            ))}
          </ul>
          {all.length > 1 && <PointersSwitch />}
        </>
      )}
    </Pop>
  );
}

function PointersSwitch() {
  const on = useStore(pointersShown);
  return (
    <label className="people-switch">
      <input
        type="checkbox"
        checked={on}
        onChange={(event) => showPointers(event.target.checked)}
      />
      {t`Show where each of us points`}
    </label>
  );
}

function isDriver({ driver }: Control, { client }: Party): boolean {
  return driver?.client === client;
}

function noteOf(control: Control, party: Party): string {
  const waits = control.waiting.some(({ client }) => client === party.client);
  if (isDriver(control, party)) return control.away ? t`drives, away for a moment` : 'drives';
  if (waits) return t`asks for control`;
  return party.role === 'viewer' ? t`watches only` : 'watches';
}

/** The driver and owners hand control to anyone who may type. */
function mayGive({ control, me, drives }: AttachStatus, party: Party): boolean {
  if (control === null || isDriver(control, party) || party.role === 'viewer') return false;
  return party.client !== me?.client && (drives || me?.role === 'owner');
}
