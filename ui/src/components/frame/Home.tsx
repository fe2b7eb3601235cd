/** The page with no sandbox chosen: the box for a task, what waits, and what is running. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { isLive } from '../../state/acts';
import { leadOf, needyFirst } from '../../state/attention/agents';
import { duration, secondsUntil, tick } from '../../state/clock';
import { go } from '../../state/route';
import { sumOf } from '../../state/standing';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { ExposedMark } from '../sandboxes/ExposedMark';
import { OwnerMark } from '../sandboxes/OwnerMark';
import { Composer } from '../tasks/Composer';
import { Archived } from '../work/Archived';
import { WorkBoard } from '../work/WorkBoard';
import { TaskGroups } from '../tasks/TaskGroups';
import { Icon } from '../parts/icons';
import { Inbox } from '../inbox/Inbox';
import { MenuButton } from '../parts/MenuButton';
import { Segments } from '../parts/Segments';
import { StandingAbout, StandingMark } from '../sandboxes/StandingMark';
import { HomeBoards } from './HomeBoards';
import { Recent } from './Recent';
import '../../styles/home.css';

interface HomeProps {
  readonly list: readonly Sandbox[];
  /** The address names a sandbox that is not there. */
  readonly missing: boolean;
  readonly onMenu: () => void;
  readonly onPalette: () => void;
}

const SHOWN_SANDBOXES = 6;

export function Home({ list, missing, onMenu, onPalette }: HomeProps) {
  const works = mayWork(useStore(team));
  return (
    <main className="home">
      <div className="home-menu">
        <MenuButton onMenu={onMenu} />
      </div>
      <div className="home-body">
        {missing && (
          <p className="reason" role="status">
            {t`${(<strong>{t`That sandbox is gone.`}</strong>)} It was destroyed, or it never existed. Your sandboxes are in the list beside this.`}
          </p>
        )}
        {works ? (
          <section className="home-task">
            <h1>{t`What is to be done?`}</h1>
            <Composer />
          </section>
        ) : (
          <Watching list={list} />
        )}
        <Inbox />
        <Running list={list} />
        <TaskGroups list={list} />
        <HomeBoards />
        <Recent />
        <Archived list={list} />
        <p className="quiet home-keys" hidden={!works}>
          {t`${(<kbd>Ctrl</kbd>)} ${(<kbd>K</kbd>)} finds everything · ${(<kbd>N</kbd>)} begins a task from any page · ${(<kbd>H</kbd>)} comes here`}
        </p>
        {!works && <SearchButton onPalette={onPalette} />}
      </div>
    </main>
  );
}

type View = 'list' | 'board';
const VIEW_KEY = 'atoll.home';

/** What runs, as cards; or all work as a board, by its state. */
function Running({ list }: { readonly list: readonly Sandbox[] }) {
  const [view, setView] = useState<View>(() =>
    localStorage.getItem(VIEW_KEY) === 'board' ? 'board' : 'list',
  );
  const live = list.filter(isLive);
  if (live.length === 0 && view === 'list') return null;
  const choose = (next: View): void => {
    setView(next);
    localStorage.setItem(VIEW_KEY, next);
  };
  return (
    <section>
      <div className="home-views">
        <h2>
          {t`Running now`} <span className="home-sum">{sumOf(live)}</span>
        </h2>
        <Segments<View>
          legend={t`Shown as`}
          quiet
          choices={[
            { value: 'list', words: t`Cards` },
            { value: 'board', words: t`Board` },
          ]}
          chosen={view}
          onChoose={choose}
        />
      </div>
      {view === 'board' ? (
        <WorkBoard list={list} />
      ) : (
        <ul className="cards">
          {needyFirst(live)
            .slice(0, SHOWN_SANDBOXES)
            .map((sandbox) => (
              <SandboxCard key={sandbox.sandbox_id} sandbox={sandbox} />
            ))}
        </ul>
      )}
    </section>
  );
}

/** What a viewer finds first. */
function Watching({ list }: { readonly list: readonly Sandbox[] }) {
  const live = list.filter(isLive);
  return (
    <section>
      <h1>{live.length > 0 ? t`Your sandboxes` : t`Nothing runs just now`}</h1>
      <p className="home-lead">
        {live.length > 0
          ? sumOf(live)
          : t`You watch what your team shares. Its running sandboxes are shown here.`}
      </p>
    </section>
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
          <StandingMark sandbox={sandbox} />
        </span>
        {task !== null && <span className="card-task">{task.prompt}</span>}
        {lead !== null && (
          <span className="card-note card-about">
            <StandingAbout sandbox={sandbox} agent={lead.agent} />
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
