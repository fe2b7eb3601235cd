/** Administration: sections of one page, each at `#/admin/<section>`. */

import '../../styles/admin.css';
import { Tabs } from '@base-ui/react/tabs';
import { useEffect, useRef, type ReactNode } from 'react';
import { t, worded } from '../../language/t';
import { connected } from '../../state/sandboxes';
import { goTo } from '../../state/route';
import { useStore } from '../../state/store';
import { organizationOf, type Team } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { TeamTokens } from './TeamTokens';
import { Tokens } from '../account/Tokens';
import { Inbox, useInbox } from '../inbox/Inbox';
import { Page } from '../parts/Page';
import { Granted, Secrets } from '../secrets/Secrets';
import { Accounts } from '../team/Accounts';
import { Invitations } from '../team/Invitations';
import { Members } from '../team/Members';
import { Quotas } from '../team/Quotas';
import { Waiting } from '../team/Waiting';
import { Audit } from './Audit';
import { Every } from './Every';
import { EveryWorker } from './EveryWorker';
import { Extensions } from './Extensions';
import { Hosts } from './Hosts';
import { Overview } from './Overview';

const SECTIONS = worded(
  () =>
    [
      { key: 'overview', words: t`Overview` },
      { key: 'sandboxes', words: t`Sandboxes` },
      { key: 'workers', words: t`Workers` },
      { key: 'members', words: t`Members` },
      { key: 'tokens', words: t`Tokens` },
      { key: 'secrets', words: t`Secrets` },
      { key: 'approvals', words: t`Approvals` },
      { key: 'audit', words: t`Audit` },
      { key: 'hosts', words: t`Hosts` },
      { key: 'extensions', words: t`Extensions` },
    ] as const,
);
type Section = ReturnType<typeof SECTIONS>[number]['key'];

interface AdminPageProps {
  readonly part: string | null;
  readonly onMenu: () => void;
}

export function AdminPage({ part, onMenu }: AdminPageProps) {
  const ours = useStore(team);
  const live = useStore(connected);
  const section = SECTIONS().find(({ key }) => key === part)?.key ?? 'overview';
  return (
    <Page
      title={t`Administration`}
      onMenu={onMenu}
      wide
      className={section === 'sandboxes' ? 'admin-body admin-whole' : 'admin-body'}
      note={
        <>
          {ours !== null && <span className="quiet">{ours.organization.name}</span>}
          {!live && <span className="badge badge-bad">{t`not live`}</span>}
        </>
      }
    >
      <Tabs.Root
        className="admin-parts"
        value={section}
        onValueChange={(next: Section) => goTo('admin', next)}
      >
        <Sections chosen={section} />
        <Tabs.Panel key={section} className="admin-section" value={section} tabIndex={-1}>
          <Shown section={section} ours={ours} />
        </Tabs.Panel>
      </Tabs.Root>
    </Page>
  );
}

/** The row of sections: tabs of the ARIA practices, which are chosen as the arrow keys reach them. */
function Sections({ chosen }: { readonly chosen: Section }) {
  const row = useRef<HTMLDivElement>(null);
  const waiting = useInbox().length;

  useEffect(() => {
    const tab = row.current?.querySelector('[aria-selected="true"]');
    tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen]);

  return (
    <Tabs.List ref={row} className="admin-tabs" aria-label={t`Sections`} activateOnFocus>
      {SECTIONS().map(({ key, words }) => (
        <Tabs.Tab key={key} value={key} className="admin-tab">
          {words}
          {key === 'approvals' && waiting > 0 && <span className="count">{waiting}</span>}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  );
}

interface ShownProps {
  readonly section: Section;
  readonly ours: Team | null;
}

function Shown({ section, ours }: ShownProps): ReactNode {
  const organization = organizationOf(ours);
  switch (section) {
    case 'overview':
      return <Overview key={organization} organization={organization} />;
    case 'sandboxes':
      return <Every key={organization} organization={organization} />;
    case 'workers':
      return <EveryWorker key={organization} organization={organization} />;
    case 'members':
      return ours === null ? <Alone /> : <People ours={ours} />;
    case 'tokens':
      return <EveryToken ours={ours} />;
    case 'secrets':
      return <Secrets />;
    case 'approvals':
      return <Approvals />;
    case 'audit':
      return <Audit key={organization} />;
    case 'hosts':
      return <Hosts />;
    case 'extensions':
      return <Extensions />;
  }
}

function Alone() {
  return (
    <p className="empty">
      {t`This is one person&rsquo;s home. ${(<code>atoll org create NAME</code>)} makes it a team&rsquo;s, while everything runs on.`}
    </p>
  );
}

function EveryToken({ ours }: { readonly ours: Team | null }) {
  return (
    <>
      <Tokens role={ours?.organization.role ?? 'owner'} />
      {ours !== null && <TeamTokens ours={ours} />}
      {ours !== null && <Accounts ours={ours} />}
    </>
  );
}

function People({ ours }: { readonly ours: Team }) {
  return (
    <>
      <Invitations ours={ours} />
      <Members ours={ours} />
      <Waiting ours={ours} />
      <Quotas ours={ours} />
    </>
  );
}

function Approvals() {
  const waiting = useInbox().length;
  return (
    <>
      {waiting === 0 && (
        <p className="empty">{t`Nothing waits for a decision. Requests are shown here as they come.`}</p>
      )}
      <Inbox />
      <Granted />
    </>
  );
}
