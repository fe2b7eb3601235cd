/** How this browser tells its person that an agent needs them; and the page as an installed one. */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { push, turnOffPush, turnOnPush, whyNot } from '../../state/attention/push';
import { keepNotifySettings, notifySettings } from '../../state/attention/settings';
import { beep } from '../../state/attention/tell';
import { useStore } from '../../state/store';
import { Page } from '../parts/Page';

export function NotificationsPage({ onMenu }: { readonly onMenu: () => void }) {
  const { desktop, sound } = useStore(notifySettings);
  return (
    <Page title={t`Notifications`} onMenu={onMenu}>
      <p className="quiet">
        {t`You are told when an agent begins to need you, is done or fails, unless you look at it. A notification holds the sandbox’s name and never text from inside it.`}
      </p>
      <section>
        <h2>{t`While the page is open`}</h2>
        <label className="check">
          <input
            type="checkbox"
            checked={desktop}
            onChange={(event) => void setDesktop(event.target.checked)}
          />
          {t`Notify me on this desktop`}
        </label>
        <label className="check">
          <input
            type="checkbox"
            checked={sound}
            onChange={(event) => {
              keepNotifySettings({ sound: event.target.checked });
              if (event.target.checked) beep();
            }}
          />
          {t`Play a sound`}
        </label>
      </section>
      <PushSection />
      <InstallSection />
    </Page>
  );
}

async function setDesktop(on: boolean): Promise<void> {
  if (on) {
    if (!('Notification' in window)) {
      notifyFailure(t`Not turned on`)(t`This browser has no notifications here.`);
      return;
    }
    if ((await Notification.requestPermission()) !== 'granted') {
      notifyFailure(t`Not turned on`)(t`The browser does not allow it: see its settings.`);
      return;
    }
  }
  keepNotifySettings({ desktop: on });
}

function PushSection() {
  const state = useStore(push);
  return (
    <section>
      <h2>{t`While the page is closed`}</h2>
      {state.is === 'impossible' ? (
        <p role="note">{state.why}</p>
      ) : (
        <label className="check">
          <input
            type="checkbox"
            checked={state.is === 'on'}
            disabled={state.is === 'busy' || state.is === 'unknown'}
            onChange={(event) => {
              const act = event.target.checked ? turnOnPush() : turnOffPush();
              act.catch(notifyFailure(t`Not changed`));
            }}
          />
          {t`Also while the page is closed (push to this browser)`}
        </label>
      )}
      <p className="quiet">
        {t`The browser’s vendor carries the messages. They are encrypted for this browser alone.`}
      </p>
    </section>
  );
}

/** The browser's own offer to install the page, where it makes one. */
interface InstallOffer extends Event {
  prompt(): Promise<unknown>;
}

let offered: InstallOffer | null = null;
window.addEventListener('beforeinstallprompt', (event) => {
  event.preventDefault();
  offered = event as InstallOffer;
});

function InstallSection() {
  const [offer, setOffer] = useState(offered);
  const installed = window.matchMedia('(display-mode: standalone)').matches;
  useEffect(() => {
    const look = (): void => setOffer(offered);
    window.addEventListener('beforeinstallprompt', look);
    return () => window.removeEventListener('beforeinstallprompt', look);
  }, []);
  return (
    <section>
      <h2>{t`On the home screen`}</h2>
      {installed && <p>{t`This page is installed.`}</p>}
      {!installed && whyNot() !== null && (
        <p role="note">
          {t`It cannot be installed.`} {whyNot()}
        </p>
      )}
      {!installed && whyNot() === null && offer === null && (
        <p>
          {t`Use “Add to Home Screen” or “Install” in the browser’s menu. iPhones push to installed pages only.`}
        </p>
      )}
      {!installed && offer !== null && (
        <button type="button" className="button" onClick={() => void offer.prompt()}>
          {t`Install Atoll`}
        </button>
      )}
    </section>
  );
}
