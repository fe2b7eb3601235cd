/** What the palette offers, given where the page is. */

import type { Sandbox } from './api/types';
import type { Command } from './components/frame/command';
import { beginTask } from './components/tasks/composing';
import { repoWords } from './components/parts/words';
import { t, worded } from './language/t';
import { agentsInside, startWords } from './state/attention/agents';
import { actsOf, actWords, comesHome, isLive, openTerminal, type Act } from './state/acts';
import { copyRules, forgetCopies } from './state/clipboard';
import { pageCommands } from './components/frame/page-commands';
import { go, goTo } from './state/route';
import { foldRail, railFolded, resizeText } from './terminal/layout/layouts';
import { isLocal, realms } from './state/realms';
import { mayManage, mayOversee, mayWork } from './state/team/rights';
import { team } from './state/team/team';
import { standingOf } from './state/standing';
import { setTheme, shade, toggleTheme } from './state/theme';
import { doWork, workActsOf, workActWords } from './state/work/acts';

interface Place {
  readonly sandbox: Sandbox | null;
  readonly list: readonly Sandbox[];
  readonly onAct: (act: Act) => void;
  readonly onHome: () => void;
  readonly onNew: () => void;
  readonly onLogOut: () => void;
}

/** The sections of the administration, as somebody would look for them. */
const ADMIN = worded(
  () =>
    [
      { part: 'overview', words: t`Administration: usage over time` },
      { part: 'sandboxes', words: t`Every sandbox` },
      { part: 'workers', words: t`Every worker` },
      { part: 'audit', words: t`Audit log` },
      { part: 'extensions', words: t`Extensions and this machine` },
    ] as const,
);

export function commandsOf(place: Place): readonly Command[] {
  const { list, onNew, onLogOut } = place;
  const works = mayWork(team.get());
  return [
    ...pageCommands.get(),
    ...ofSandbox(place),
    ...(works
      ? ([
          { id: 'task', words: t`Home: a new task`, note: 'H', icon: 'agent', run: beginTask },
          { id: 'new', words: t`New task or sandbox`, note: 'N', icon: 'plus', run: onNew },
          {
            id: 'secrets',
            words: t`Secrets and approvals`,
            icon: 'key',
            run: () => goTo('secrets'),
          },
          { id: 'workers', words: t`Workers`, icon: 'agent', run: () => goTo('workers') },
        ] as const)
      : []),
    {
      id: 'dashboards',
      words: t`Dashboards`,
      note: 'D',
      icon: 'board',
      run: () => goTo('dashboards'),
    },
    { id: 'inbox', words: t`Inbox`, note: 'I', icon: 'question', run: () => goTo('inbox') },
    {
      id: 'notifications',
      words: t`Notifications`,
      icon: 'bell',
      run: () => goTo('notifications'),
    },
    {
      id: 'terminals',
      words: t`All terminals side by side`,
      note: 'T',
      icon: 'grid',
      run: () => goTo('terminals'),
    },
    ...(mayOversee(team.get())
      ? ADMIN().map(({ part, words }): Command => ({
          id: `admin ${part}`,
          words,
          note: part === 'overview' ? 'A' : t`Administration`,
          icon: 'shield',
          run: () => goTo('admin', part),
        }))
      : []),
    ...list.map((one): Command => ({
      id: `go ${one.sandbox_id}`,
      words: t`Go to ${one.name}`,
      note: [standingOf(one).words, repoWords(one)].filter(Boolean).join(' · '),
      icon: one.agent === null ? 'terminal' : 'agent',
      run: () => go(one.sandbox_id),
    })),
    ...list.filter(isAway).map((one): Command => ({
      id: `revive ${one.sandbox_id}`,
      words: t`Revive ${one.name}`,
      note: [t`Archived`, repoWords(one)].filter(Boolean).join(' · '),
      icon: 'revive',
      run: () => void doWork(one, 'revive'),
    })),
    {
      id: 'rail',
      words: railFolded.get() ? t`Show the rail` : t`Fold the rail`,
      note: 'B',
      icon: 'menu',
      run: foldRail,
    },
    {
      id: 'text larger',
      words: t`Larger text in terminals`,
      icon: 'text',
      run: () => resizeText(1),
    },
    {
      id: 'text smaller',
      words: t`Smaller text in terminals`,
      icon: 'text',
      run: () => resizeText(-1),
    },
    {
      id: 'text normal',
      words: t`Text of terminals as at first`,
      icon: 'text',
      run: () => resizeText(0),
    },
    ...copies(),
    {
      id: 'theme',
      words: shade.get() === 'dark' ? t`Switch to light colours` : t`Switch to dark colours`,
      icon: shade.get() === 'dark' ? 'sun' : 'moon',
      run: toggleTheme,
    },
    {
      id: 'theme system',
      words: t`Colours as the system says`,
      icon: 'sun',
      run: () => setTheme('system'),
    },
    {
      id: 'appearance',
      words: t`Appearance: contrast, room and motion`,
      icon: 'cards',
      run: () => goTo('design'),
    },
    ...accounts(),
    { id: 'logout', words: t`Log out`, icon: 'person', run: onLogOut },
  ];
}

function ofSandbox({ sandbox, onAct, onHome }: Place): readonly Command[] {
  if (sandbox === null) return [];
  const { sandbox_id: id, name } = sandbox;
  const home: Command = {
    id: 'home',
    words: t`Pull its work`,
    note: name,
    icon: 'branch',
    run: onHome,
  };
  const terminals: Command[] = [
    {
      id: 'terminal',
      words: t`New terminal`,
      note: name,
      icon: 'terminal',
      run: () => void openTerminal(id),
    },
    ...agentsInside(sandbox).map((agent): Command => ({
      id: `agent ${agent}`,
      words: startWords(agent),
      note: name,
      icon: 'agent',
      run: () => void openTerminal(id, agent),
    })),
  ];
  return [
    ...(isLive(sandbox) && mayWork(team.get()) ? terminals : []),
    { id: 'log', words: t`Show the log`, note: name, icon: 'log', run: () => go(id, 'log') },
    ...(comesHome(sandbox) && mayManage(team.get(), sandbox) ? [home] : []),
    ...(mayManage(team.get(), sandbox) ? workActsOf(sandbox) : []).map((act): Command => ({
      id: act,
      words: workActWords()[act],
      note: name,
      icon: act,
      run: () => void doWork(sandbox, act),
    })),
    ...(mayManage(team.get(), sandbox) ? actsOf(sandbox) : []).map((act): Command => ({
      id: act,
      words: t`${actWords()[act]} this sandbox`,
      note: name,
      icon: act,
      run: () => onAct(act),
    })),
  ];
}

/** Whether it is archived, and the reader's to revive. */
function isAway(sandbox: Sandbox): boolean {
  return sandbox.archived_at !== null && mayManage(team.get(), sandbox);
}

/** The pages that one person's home does not have. */
function accounts(): readonly Command[] {
  const ours = team.get();
  if (ours === null && isLocal(realms.get())) return [];
  const account: Command = {
    id: 'account',
    words: t`Your account`,
    icon: 'person',
    run: () => goTo('account'),
  };
  if (ours === null) return [account];
  const { name } = ours.organization;
  return [
    account,
    { id: 'team', words: t`Team and quotas`, note: name, icon: 'share', run: () => goTo('team') },
  ];
}

/** The way back from decisions about programs that copy. */
function copies(): readonly Command[] {
  if (Object.keys(copyRules.get()).length === 0) return [];
  const words = t`Ask again before programs copy`;
  return [{ id: 'copies', words, icon: 'copy', run: forgetCopies }];
}
