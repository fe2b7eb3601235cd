/** What the palette offers, given where the page is. */

import type { Sandbox } from './api/types';
import type { Command } from './components/frame/Palette';
import { beginTask } from './components/tasks/begin';
import { stateWords } from './components/sandboxes/StateMark';
import { repoWords } from './components/parts/words';
import { actsOf, actWords, comesHome, isLive, openTerminal, type Act } from './state/acts';
import { copyRules, forgetCopies } from './state/clipboard';
import { pageCommands } from './components/frame/page-commands';
import { go, goTo } from './state/route';
import { foldRail, railFolded, resizeText } from './state/layouts';
import { realms } from './state/realms';
import { mayManage, mayOversee, mayWork } from './state/team/rights';
import { team } from './state/team/team';
import { setTheme, shade, toggleTheme } from './state/theme';

interface Place {
  readonly sandbox: Sandbox | null;
  readonly list: readonly Sandbox[];
  readonly onAct: (act: Act) => void;
  readonly onHome: () => void;
  readonly onNew: () => void;
  readonly onLogOut: () => void;
}

/** The sections of the administration, as somebody would look for them. */
const ADMIN = [
  { part: 'overview', words: 'Administration: usage over time' },
  { part: 'sandboxes', words: 'Every sandbox' },
  { part: 'audit', words: 'Audit log' },
  { part: 'extensions', words: 'Extensions and this machine' },
] as const;

export function commandsOf(place: Place): readonly Command[] {
  const { list, onNew, onLogOut } = place;
  const works = mayWork(team.get());
  return [
    ...pageCommands.get(),
    ...ofSandbox(place),
    ...(works
      ? ([
          { id: 'task', words: 'Home: a new task', note: 'H', icon: 'agent', run: beginTask },
          { id: 'new', words: 'New sandbox', note: 'N', icon: 'plus', run: onNew },
          {
            id: 'secrets',
            words: 'Secrets and approvals',
            icon: 'key',
            run: () => goTo('secrets'),
          },
        ] as const)
      : []),
    {
      id: 'dashboards',
      words: 'Dashboards',
      note: 'D',
      icon: 'board',
      run: () => goTo('dashboards'),
    },
    { id: 'inbox', words: 'Inbox', note: 'I', icon: 'question', run: () => goTo('inbox') },
    {
      id: 'notifications',
      words: 'Notifications',
      icon: 'bell',
      run: () => goTo('notifications'),
    },
    {
      id: 'wall',
      words: 'All terminals on a wall',
      note: 'W',
      icon: 'grid',
      run: () => goTo('wall'),
    },
    ...(mayOversee(team.get())
      ? ADMIN.map(({ part, words }): Command => ({
          id: `admin ${part}`,
          words,
          note: part === 'overview' ? 'A' : 'Administration',
          icon: 'shield',
          run: () => goTo('admin', part),
        }))
      : []),
    ...list.map((one): Command => ({
      id: `go ${one.sandbox_id}`,
      words: `Go to ${one.name}`,
      note: [stateWords[one.state], repoWords(one)].filter(Boolean).join(' · '),
      icon: one.agent === null ? 'terminal' : 'agent',
      run: () => go(one.sandbox_id),
    })),
    {
      id: 'rail',
      words: railFolded.get() ? 'Show the rail' : 'Fold the rail',
      note: 'B',
      icon: 'menu',
      run: foldRail,
    },
    {
      id: 'text larger',
      words: 'Larger text in terminals',
      icon: 'text',
      run: () => resizeText(1),
    },
    {
      id: 'text smaller',
      words: 'Smaller text in terminals',
      icon: 'text',
      run: () => resizeText(-1),
    },
    {
      id: 'text normal',
      words: 'Text of terminals as at first',
      icon: 'text',
      run: () => resizeText(0),
    },
    ...copies(),
    {
      id: 'theme',
      words: `Switch to ${shade.get() === 'dark' ? 'light' : 'dark'} colours`,
      icon: shade.get() === 'dark' ? 'sun' : 'moon',
      run: toggleTheme,
    },
    {
      id: 'theme system',
      words: 'Colours as the system says',
      icon: 'sun',
      run: () => setTheme('system'),
    },
    {
      id: 'appearance',
      words: 'Appearance: contrast, room and motion',
      icon: 'cards',
      run: () => goTo('design'),
    },
    ...accounts(),
    { id: 'logout', words: 'Log out', icon: 'person', run: onLogOut },
  ];
}

function ofSandbox({ sandbox, onAct, onHome }: Place): readonly Command[] {
  if (sandbox === null) return [];
  const { sandbox_id: id, name, agent } = sandbox;
  const home: Command = {
    id: 'home',
    words: 'Bring its work home',
    note: name,
    icon: 'branch',
    run: onHome,
  };
  const terminals: Command[] = [
    {
      id: 'terminal',
      words: 'New terminal',
      note: name,
      icon: 'terminal',
      run: () => void openTerminal(id),
    },
  ];
  if (agent !== null) {
    terminals.push({
      id: 'agent',
      words: `New ${agent} terminal`,
      note: name,
      icon: 'agent',
      run: () => void openTerminal(id, agent),
    });
  }
  return [
    ...(isLive(sandbox) && mayWork(team.get()) ? terminals : []),
    { id: 'log', words: 'Show the log', note: name, icon: 'log', run: () => go(id, 'log') },
    ...(comesHome(sandbox) && mayManage(team.get(), sandbox) ? [home] : []),
    ...(mayManage(team.get(), sandbox) ? actsOf(sandbox) : []).map((act): Command => ({
      id: act,
      words: `${actWords[act]} this sandbox`,
      note: name,
      icon: act,
      run: () => onAct(act),
    })),
  ];
}

/** The pages that one person's home does not have. */
function accounts(): readonly Command[] {
  const ours = team.get();
  if (ours === null && realms.get().mode === 'local') return [];
  const account: Command = {
    id: 'account',
    words: 'Your account',
    icon: 'person',
    run: () => goTo('account'),
  };
  if (ours === null) return [account];
  const { name } = ours.organization;
  return [
    account,
    { id: 'team', words: 'Team and quotas', note: name, icon: 'share', run: () => goTo('team') },
  ];
}

/** The way back from decisions about programs that copy. */
function copies(): readonly Command[] {
  if (Object.keys(copyRules.get()).length === 0) return [];
  const words = 'Ask again before programs copy';
  return [{ id: 'copies', words, icon: 'copy', run: forgetCopies }];
}
