/** The page with no sandbox chosen: what is running, and the shortest ways to begin. */

import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import type { Profile, Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import { leadOf, needyFirst, sumOf } from '../../state/attention/agents';
import { duration, secondsUntil, tick } from '../../state/clock';
import { go } from '../../state/route';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { BlockedProfiles, isUsable } from '../sandboxes/BlockedProfiles';
import { ExposedMark } from '../sandboxes/ExposedMark';
import { OwnerMark } from '../sandboxes/OwnerMark';
import { Composer } from '../tasks/Composer';
import { TaskGroups } from '../tasks/TaskGroups';
import { Icon, Mark } from '../parts/icons';
import { Inbox } from '../inbox/Inbox';
import { AgentAbout, AgentMark } from '../agents/AgentMark';
import { MenuButton } from '../parts/MenuButton';
import { StateMark } from '../sandboxes/StateMark';
import { profileWords } from '../parts/words';
import { HomeBoards } from './HomeBoards';
import { Recent } from './Recent';
import '../../styles/home.css';

interface HomeProps {
  readonly list: readonly Sandbox[];
  /** The address names a sandbox that is not there. */
  readonly missing: boolean;
  readonly onNew: (profile: string | null) => void;
  readonly onMenu: () => void;
  readonly onPalette: () => void;
}

const SHOWN_PROFILES = 6;
const SHOWN_SANDBOXES = 6;

export function Home({ list, missing, onNew, onMenu, onPalette }: HomeProps) {
  const [profiles, setProfiles] = useState<readonly Profile[]>([]);
  useEffect(() => {
    api.profiles().then(setProfiles, () => setProfiles([]));
  }, []);
  const works = mayWork(useStore(team));
  const running = needyFirst(list.filter(isLive)).slice(0, SHOWN_SANDBOXES);
  const { title, lead } = greeting(missing, list.filter(isLive), works);

  return (
    <main className="home">
      <div className="home-menu">
        <MenuButton onMenu={onMenu} />
      </div>
      <div className="home-body">
        {running.length === 0 && <Mark />}
        <h1>{title}</h1>
        <p className="home-lead">{lead}</p>
        <SearchButton onPalette={onPalette} />
        <Inbox />
        {running.length > 0 && (
          <section>
            <h2>{t`Running now`}</h2>
            <ul className="cards">
              {running.map((sandbox) => (
                <SandboxCard key={sandbox.sandbox_id} sandbox={sandbox} />
              ))}
            </ul>
          </section>
        )}
        <HomeBoards />
        <TaskGroups list={list} />
        {works && (
          <section>
            {running.length > 0 && <h2>{t`New task`}</h2>}
            <Composer />
          </section>
        )}
        <section hidden={!works}>
          <h2>{running.length > 0 ? t`Or begin something new` : t`Begin with a profile`}</h2>
          <ul className="cards">
            {profiles
              .filter(isUsable)
              .slice(0, SHOWN_PROFILES)
              .map((profile) => (
                <ProfileCard key={profile.id} profile={profile} onNew={onNew} />
              ))}
          </ul>
          <BlockedProfiles profiles={profiles} />
        </section>
        <Recent />
        <p className="quiet home-keys" hidden={!works}>
          {t`${(<kbd>Ctrl</kbd>)} ${(<kbd>K</kbd>)} finds everything · ${(<kbd>H</kbd>)} begins a task · ${(<kbd>N</kbd>)} makes a sandbox`}
        </p>
      </div>
    </main>
  );
}

/** Looks like a field and opens the palette, which searches everything. */
function SearchButton({ onPalette }: { readonly onPalette: () => void }) {
  return (
    <button type="button" className="home-search" onClick={onPalette}>
      <Icon name="search" />
      <span>{t`Find everything by its name or words`}</span>
      <kbd>/</kbd>
    </button>
  );
}

function greeting(
  missing: boolean,
  live: readonly Sandbox[],
  works: boolean,
): { title: string; lead: string } {
  if (missing) {
    return {
      title: t`That sandbox is gone`,
      lead: t`It was destroyed, or it never existed. Your sandboxes are in the list beside this.`,
    };
  }
  if (live.length > 0) return { title: t`Your sandboxes`, lead: sumOf(live) };
  if (!works) {
    return {
      title: t`Nothing runs just now`,
      lead: t`You watch what your team shares. Its running sandboxes are shown here.`,
    };
  }
  return {
    title: t`Give an agent a place of its own`,
    lead: t`A sandbox has its own files, terminals and limits. You can watch and drive each terminal.`,
  };
}

function SandboxCard({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useStore(tick);
  const { sandbox_id: id, expires_at: end, task } = sandbox;
  const lead = leadOf(sandbox);
  const branch = sandbox.repos[0]?.branch ?? '';
  return (
    <li className="card">
      <button type="button" className="card-face" onClick={() => go(id)}>
        <span className="card-title">
          <span className="card-name" title={sandbox.name}>
            {sandbox.name}
          </span>
          <ExposedMark sandbox={sandbox} />
          <OwnerMark sandbox={sandbox} />
          {lead === null ? <StateMark state={sandbox.state} /> : <AgentMark agent={lead} />}
        </span>
        {task !== null && <span className="card-task">{task.prompt}</span>}
        {lead !== null && (
          <span className="card-note card-about">
            <AgentAbout agent={lead} />
          </span>
        )}
        {branch !== '' && (
          <span className="card-note card-branch" title={branch}>
            {branch}
          </span>
        )}
        {sandbox.ends_soon && (
          <span className="card-note fact-warn">
            {t`ends soon: ${duration(secondsUntil(end, now))} left`}
          </span>
        )}
      </button>
    </li>
  );
}

interface ProfileCardProps {
  readonly profile: Profile;
  readonly onNew: (profile: string | null) => void;
}

function ProfileCard({ profile, onNew }: ProfileCardProps) {
  const { id, agent = null, description = '' } = profile;
  return (
    <li className="card">
      <button type="button" className="card-face" onClick={() => onNew(id)}>
        <span className="card-title">
          <Icon name={agent === null ? 'terminal' : 'agent'} />
          {profileWords(id)}
        </span>
        {description !== '' && <span className="card-note">{description}</span>}
      </button>
    </li>
  );
}
