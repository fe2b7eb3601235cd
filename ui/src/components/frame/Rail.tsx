/** The left rail: every sandbox at a glance, and the ways to anything else. */

import { useMemo, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t, worded } from '../../language/t';
import { age, tick } from '../../state/clock';
import { isLive } from '../../state/acts';
import { leadOf, needyFirst } from '../../state/attention/agents';
import { go, goTo, route, type PlainPage } from '../../state/route';
import { connected, sandboxes } from '../../state/sandboxes';
import { aboutWork, standingOf } from '../../state/standing';
import { useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { shade, toggleTheme } from '../../state/theme';
import { AccountMenu } from '../account/AccountMenu';
import { useInbox } from '../inbox/Inbox';
import { ExposedMark } from '../sandboxes/ExposedMark';
import { OwnerMark } from '../sandboxes/OwnerMark';
import { Icon, Mark } from '../parts/icons';
import { Pop } from '../parts/Pop';
import { StandingAbout, StandingShape } from '../sandboxes/StandingMark';
import { repoWords } from '../parts/words';
import { offeredPlaces } from './places';

interface RailProps {
  readonly onNew: () => void;
  readonly onPalette: () => void;
  readonly onPick: () => void;
}

const GROUPS = worded<readonly { title: string; has: (sandbox: Sandbox) => boolean }[]>(() => [
  {
    title: t`Running`,
    has: ({ state }) => ['requested', 'provisioning', 'ready', 'active'].includes(state),
  },
  { title: t`Stopped`, has: ({ state }) => state === 'stopped' },
  {
    title: t`Ended`,
    has: ({ state }) => ['expired', 'failed', 'destroying', 'destroyed'].includes(state),
  },
]);

/** The filter is worth its room only when the list is long. */
const FILTER_FROM = 8;

export function Rail({ onNew, onPalette, onPick }: RailProps) {
  const list = useStore(sandboxes);
  const works = mayWork(useStore(team));
  const [filter, setFilter] = useState('');
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return (list ?? []).filter(
      (sandbox) =>
        sandbox.work?.state !== 'archived' &&
        `${sandbox.name} ${repoWords(sandbox) ?? ''}`.toLowerCase().includes(wanted),
    );
  }, [list, filter]);

  return (
    <nav className="rail" aria-label={t`Sandboxes`}>
      <header className="rail-head">
        <a
          className="brand"
          href="#/"
          onClick={(event) => {
            event.preventDefault();
            go(null);
            onPick();
          }}
        >
          <Mark />
          Atoll
        </a>
        <LinkMark />
      </header>
      <button
        type="button"
        className="rail-search"
        onClick={onPalette}
        title={t`Commands (Ctrl K)`}
      >
        <Icon name="search" />
        <span>{t`Search or jump`}</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      {works && (
        <button type="button" className="button button-primary rail-new" onClick={onNew}>
          <Icon name="plus" />
          {t`New task`}
          <kbd aria-hidden="true">N</kbd>
        </button>
      )}
      {list !== null && list.length >= FILTER_FROM && (
        <label className="rail-filter">
          <Icon name="search" />
          <span className="spoken">{t`Filter sandboxes`}</span>
          <input
            type="search"
            placeholder={t`Filter`}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </label>
      )}
      <div className="rail-lists">
        {list === null && <RailSkeleton />}
        {GROUPS().map(({ title, has }) => (
          <Group key={title} title={title} list={needyFirst(shown.filter(has))} onPick={onPick} />
        ))}
        {list !== null && shown.length === 0 && (
          <p className="rail-empty">{filter === '' ? t`No sandboxes yet.` : t`None matches.`}</p>
        )}
      </div>
      <RailPlaces onPick={onPick} />
      <AccountMenu onPick={onPick} />
    </nav>
  );
}

function RailSkeleton() {
  return (
    <div className="skeleton" aria-label={t`Loading`}>
      <span />
      <span />
      <span />
    </div>
  );
}

interface GroupProps {
  readonly title: string;
  readonly list: readonly Sandbox[];
  readonly onPick: () => void;
}

function Group({ title, list, onPick }: GroupProps) {
  if (list.length === 0) return null;
  return (
    <section>
      <h2 className="rail-title">
        {title} <span>{list.length}</span>
      </h2>
      <ul className="rail-list">
        {list.map((sandbox) => (
          <Row key={sandbox.sandbox_id} sandbox={sandbox} onPick={onPick} />
        ))}
      </ul>
    </section>
  );
}

function Row({ sandbox, onPick }: { readonly sandbox: Sandbox; readonly onPick: () => void }) {
  const now = useStore(tick);
  const here = useStore(route).sandbox;
  const repo = repoWords(sandbox);
  const { words, tone } = standingOf(sandbox);
  const lead = isLive(sandbox) ? leadOf(sandbox) : null;
  const about = lead !== null || aboutWork(sandbox) !== '';
  const current = here === sandbox.sandbox_id || here === sandbox.name;
  return (
    <li>
      <a
        className="row"
        href={`#/sandboxes/${encodeURIComponent(sandbox.sandbox_id)}`}
        aria-current={current ? 'page' : undefined}
        onClick={(event) => {
          event.preventDefault();
          go(sandbox.sandbox_id);
          onPick();
        }}
      >
        <span className={`row-mark tone-${tone}`}>
          <StandingShape tone={tone} />
        </span>
        <span className="row-name">
          <span className="row-words" title={sandbox.name}>
            {sandbox.name}
          </span>
          <ExposedMark sandbox={sandbox} />
          <OwnerMark sandbox={sandbox} />
        </span>
        <time className="row-age" dateTime={sandbox.created_at} title={sandbox.created_at}>
          {age(sandbox.created_at, now)}
        </time>
        <span className="row-note">
          <span className={`state-word tone-${tone}`}>{words}</span>
          {about ? (
            <StandingAbout sandbox={sandbox} agent={lead?.agent ?? null} />
          ) : (
            <>
              {repo !== null && <span className="row-repo">{repo}</span>}
              {sandbox.agent !== null && <span className="row-agent">{sandbox.agent}</span>}
            </>
          )}
        </span>
      </a>
    </li>
  );
}

/** The places that have their words in the row; the others are behind it. */
const FIRST: readonly PlainPage[] = ['inbox', 'terminals', 'dashboards'];

function RailPlaces({ onPick }: { readonly onPick: () => void }) {
  const here = useStore(route).page;
  const waiting = useInbox().length;
  const places = offeredPlaces(useStore(team));
  const others = places.filter(({ page }) => !FIRST.includes(page));
  const visit = (page: PlainPage): void => {
    goTo(page);
    onPick();
  };
  return (
    <div className="rail-places">
      {places
        .filter(({ page }) => FIRST.includes(page))
        .map(({ page, words, key }) => {
          const count = page === 'inbox' ? waiting : 0;
          return (
            <button
              key={page}
              type="button"
              className={count > 0 ? 'rail-place rail-pending' : 'rail-place'}
              aria-current={here === page ? 'page' : undefined}
              title={`${words} (${key ?? ''})`}
              onClick={() => visit(page)}
            >
              {words}
              {count > 0 && <span className="count">{count}</span>}
            </button>
          );
        })}
      <Pop className="rail-place rail-more" label={t`More places`} summary={<Icon name="more" />}>
        {(close) => (
          <div className="menu-list">
            {others.map(({ page, icon, words, key }) => (
              <button
                key={page}
                type="button"
                className="sandbox-act"
                aria-current={here === page ? 'page' : undefined}
                onClick={() => {
                  close();
                  visit(page);
                }}
              >
                <Icon name={icon} />
                {words}
                {key !== undefined && <kbd aria-hidden="true">{key}</kbd>}
              </button>
            ))}
            <ThemeSwitch />
          </div>
        )}
      </Pop>
    </div>
  );
}

/** Whether events flow: a dot, and words where they do not. */
function LinkMark() {
  const live = useStore(connected);
  return (
    <span className={live ? 'link link-live' : 'link link-cut'} role="status">
      <span className="link-dot" aria-hidden="true" />
      <span className="link-words">{live ? t`Live` : t`Reconnecting…`}</span>
    </span>
  );
}

function ThemeSwitch() {
  const now = useStore(shade);
  return (
    <button type="button" className="sandbox-act" onClick={toggleTheme}>
      <Icon name={now === 'dark' ? 'sun' : 'moon'} />
      {now === 'dark' ? t`Switch to light colours` : t`Switch to dark colours`}
    </button>
  );
}
