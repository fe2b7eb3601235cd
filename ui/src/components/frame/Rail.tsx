/** The left rail: every sandbox at a glance, and the ways to anything else. */

import { useMemo, useState } from 'react';
import type { Sandbox } from '../../api/types';
import { t } from '../../language/t';
import { age, tick } from '../../state/clock';
import { isLive } from '../../state/acts';
import { leadOf } from '../../state/attention/agents';
import { go, goTo, route, type PlainPage } from '../../state/route';
import { connected, sandboxes } from '../../state/sandboxes';
import { aboutWork, standingOf } from '../../state/standing';
import { Store, useStore } from '../../state/store';
import { mayWork } from '../../state/team/rights';
import { team } from '../../state/team/team';
import { shade, toggleTheme } from '../../state/theme';
import { groupsOf, type Grouping } from '../../state/work/lanes';
import { isUnread, looked } from '../../state/work/unread';
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

const GROUPING_KEY = 'atoll.grouping';
/** How the rail is grouped, kept in this browser. */
const grouping = new Store<Grouping>(
  localStorage.getItem(GROUPING_KEY) === 'repository' ? 'repository' : 'state',
);

function regroup(): void {
  grouping.set((now) => (now === 'state' ? 'repository' : 'state'));
  localStorage.setItem(GROUPING_KEY, grouping.get());
}

/** The filter is worth its room only when the list is long. */
const FILTER_FROM = 8;
/** Rows that have a key. */
const KEYS = 9;

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

  const by = useStore(grouping);
  const groups = groupsOf(shown, by);

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
        {shown.length > 1 && <GroupingButton by={by} />}
        {groups.map(({ key, title, list: members }, at) => (
          <Group
            key={key}
            title={title}
            list={members}
            first={groups.slice(0, at).reduce((sum, one) => sum + one.list.length, 1)}
            onPick={onPick}
          />
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
  /** The number of its first row. */
  readonly first: number;
  readonly onPick: () => void;
}

function GroupingButton({ by }: { readonly by: Grouping }) {
  return (
    <button
      type="button"
      className="rail-grouping"
      title={t`Grouped by state, or by repository`}
      onClick={regroup}
    >
      {by === 'state' ? t`By state` : t`By repository`}
    </button>
  );
}

function Group({ title, list, first, onPick }: GroupProps) {
  if (list.length === 0) return null;
  return (
    <section>
      <h2 className="rail-title">
        {title} <span>{list.length}</span>
      </h2>
      <ul className="rail-list">
        {list.map((sandbox, at) => (
          <Row key={sandbox.sandbox_id} sandbox={sandbox} number={first + at} onPick={onPick} />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  readonly sandbox: Sandbox;
  /** Its place in the rail; a key goes to the first nine. */
  readonly number: number;
  readonly onPick: () => void;
}

function Row({ sandbox, number, onPick }: RowProps) {
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
        aria-keyshortcuts={number <= KEYS ? String(number) : undefined}
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
          <UnreadMark sandbox={sandbox} current={current} />
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

/** A dot where the state changed since one last looked. */
function UnreadMark({
  sandbox,
  current,
}: {
  readonly sandbox: Sandbox;
  readonly current: boolean;
}) {
  const seen = useStore(looked);
  if (current || !isUnread(sandbox, seen)) return null;
  return (
    <span className="row-unread" title={t`Changed since you looked`}>
      <span className="spoken">{t`changed since you looked`}</span>
    </span>
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
