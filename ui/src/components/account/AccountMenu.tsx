/** Who is logged in and in which organization, at the foot of the rail, with the ways from there. */

import type { Organization } from '../../api/team';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { login, logOut } from '../../state/login';
import { realms } from '../../state/realms';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { workIn } from '../../state/team/entering';
import { roleName } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { Avatar } from '../parts/Avatar';
import { Icon } from '../parts/icons';
import { Pop } from '../parts/Pop';

/** Whether this page has an account at all: one person's home shows none. */
export function useAccountShown(): boolean {
  const isTeam = useStore(team) !== null;
  return useStore(realms).mode === 'oidc' || isTeam;
}

export function AccountMenu({ onPick }: { readonly onPick: () => void }) {
  const shown = useAccountShown();
  const who = useStore(login);
  const ours = useStore(team);
  if (!shown || who.is !== 'in') return null;
  const where =
    ours === null
      ? t`no organization`
      : `${ours.organization.name} · ${roleName(ours.organization.role)}`;
  return (
    <div className="account-menu">
      <Pop
        above
        summary={
          <>
            <Avatar name={who.name} principal={ours?.me ?? who.name} />
            <span className="account-words">
              <span className="account-name">{who.name}</span>
              <span className="account-where">{where}</span>
            </span>
            <Icon name="up" />
          </>
        }
      >
        {(close) => {
          const pick = (act: () => void) => () => {
            close();
            act();
            onPick();
          };
          return (
            <ul className="account-ways">
              <li>
                <button type="button" onClick={pick(() => goTo('account'))}>
                  <Icon name="person" />
                  {t`Your account`}
                </button>
              </li>
              {ours !== null && (
                <li>
                  <button type="button" onClick={pick(() => goTo('team'))}>
                    <Icon name="share" />
                    {t`${ours.organization.name}: team and quotas`}
                  </button>
                </li>
              )}
              {ours !== null &&
                ours.all
                  .filter((one) => one.organization_id !== ours.organization.organization_id)
                  .map((one) => (
                    <li key={one.organization_id}>
                      <button type="button" onClick={pick(() => void switchTo(one))}>
                        <Icon name="recreate" />
                        {t`Switch to ${one.name}`}
                      </button>
                    </li>
                  ))}
              <li>
                <button type="button" onClick={pick(() => void logOut())}>
                  <Icon name="stop" />
                  {t`Log out`}
                </button>
              </li>
            </ul>
          );
        }}
      </Pop>
    </div>
  );
}

/** Works in another organization; everything on the page is another one's then. */
function switchTo({ name, organization_id: id }: Organization): Promise<void> {
  const stayed = notifyFailure(t`You still work where you did, not in ${name}`);
  return workIn(id, t`You work in ${name} now.`).catch(stayed);
}
