/** What each role is offered, as the parts of the page draw it. */

import { createElement, type ComponentProps, type FunctionComponent } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import type { Card, Sandbox, Terminal } from '../../api/types';
import type { Organization, OrgRole } from '../../api/team';
import { team } from '../../state/team/team';
import { login } from '../../state/login';
import { sandboxes } from '../../state/sandboxes';
import { inbox } from '../../state/attention/inbox';
import { useRights } from '../../state/team/useRights';
import { AgentBar } from '../agents/AgentBar';
import { Answer } from '../agents/Answer';
import { AskBar } from '../agents/AskBar';
import { Rail } from '../frame/Rail';
import { offeredPlaces } from '../frame/places';
import { InboxPage } from '../inbox/InboxPage';
import { Tab } from '../parts/Tab';
import { TabList } from '../parts/TabList';
import { CommentBar } from '../review/CommentBar';
import { DiffView } from '../review/diff/DiffView';
import type { ThreadActs } from '../review/diff/ThreadRow';
import { KeyList } from '../review/ReviewKeys';
import { ReviewTools } from '../review/ReviewTools';
import { LogPane } from '../sandboxes/LogPane';
import { SetupNote } from '../sandboxes/SetupNote';
import { FirstAgent } from '../tasks/AgentChoice';
import { commandsOf } from '../../commands';
import type { Changes } from '../review/reviews';
import type { ReviewThread } from '../review/threads';

const nothing = (): void => undefined;
const never = (): Promise<void> => new Promise(nothing);

vi.hoisted(() => {
  const none = (): void => undefined;
  const kept = { getItem: () => null, setItem: none, removeItem: none, length: 0 };
  vi.stubGlobal('localStorage', kept);
  vi.stubGlobal('sessionStorage', kept);
  vi.stubGlobal('location', { hash: '', origin: 'http://localhost' });
  const media = () => ({ matches: false, addEventListener: none });
  const window = { addEventListener: none, matchMedia: media, setInterval: none, innerWidth: 1200 };
  vi.stubGlobal('window', window);
  vi.stubGlobal('matchMedia', media);
  vi.stubGlobal('document', { documentElement: { dataset: {} }, querySelector: none });
});

type Drawn = () => string;
type Whose = 'own' | 'others';

/** What is offered in a part of the page, as a label of a button: to viewers never. */
interface Part {
  readonly name: string;
  readonly draw: Drawn;
  /** To whoever works in the sandbox. */
  readonly works?: readonly string[];
  /** To its owner and to administrators. */
  readonly manages?: readonly string[];
  /** To its owner. */
  readonly owns?: readonly string[];
  /** To administrators, whose sandbox it may be. */
  readonly administers?: readonly string[];
}

const SANDBOX = {
  ...{ sandbox_id: 'sb', name: 'box', state: 'active', generation: 1, agents: [], agent: null },
  ...{ project: { state: 'failed', reason: 'exit 1' }, task: { state: 'waiting', prompt: 'x' } },
  repos: [{ path: '/workspace', repo_url: 'o/r', branch: 'b' }],
  exposed_secrets: [],
} as unknown as Sandbox;

const FILE = {
  ...{ path: 'a.py', old_path: null, digest: 'd', kind: 'changed', untracked: false },
  ...{ uncommitted: true, binary: false, additions: 1, deletions: 0 },
};
const CHANGES = { files: [FILE], total: 1, additions: 1, deletions: 0, commits: 0, digest: 'd' };
const ASKS = {
  ...{ id: 'c', kind: 'approval', state: 'pending', title: 'Run', text: '', cut: false },
  ...{ data: { answerable: true }, options: [{ id: 'y', label: 'Allow it', effect: 'allow' }] },
} as unknown as Card;
const THREAD: ReviewThread = {
  ...{ thread_id: 'thr', repo: 0, path: 'a.py', side: 'new', line: 1, lines: ['x'], opened_at: '' },
  ...{ resolved: null, sent: null, unsent: true },
  remarks: [
    { remark_id: 'r', author: 'm', author_name: null, text: 'why', at: '', edited_at: null },
  ],
};
const ACTS: ThreadActs = {
  ...{ resolve: nothing, withdraw: nothing },
  ...{ mayReword: () => true, mayWithdraw: () => true },
};
const STRICT = { agent: 'claude', state: 'running', turn: 'working', strict: true } as const;

/** A tab in its row, without which there is none. */
function TabInRow(props: ComponentProps<typeof Tab>) {
  const { terminal_id: id } = props.terminal;
  return createElement(TabList, { keys: [id], chosen: id, children: createElement(Tab, props) });
}

function draw<P extends object>(component: FunctionComponent<P>, props: P): Drawn {
  return () => renderToStaticMarkup(createElement(component, props));
}
/** A part that is handed the rights of its person. */
function handed<P extends object>(
  component: FunctionComponent<P>,
  props: (works: boolean) => P | null,
): Drawn {
  return draw(() => {
    const { works } = useRights('sb');
    const given = props(works);
    return given === null ? null : createElement(component, given);
  }, {});
}

function become(role: OrgRole | null, whose: Whose): void {
  login.set({ is: role === null ? 'over' : 'in', name: 'Me' });
  sandboxes.set([{ ...SANDBOX, owner: whose === 'own' ? 'me' : 'ada' }]);
  const organization = { organization_id: 'org', name: 'Acme', role } as Organization;
  team.set({ organization, all: [organization], me: 'me', members: [] });
}
inbox.set([
  {
    ...{ id: 'i', kind: 'agent', sandbox_id: 'sb', sandbox_name: 'box', agent: 'claude' },
    ...{ lines: ['ls'], options: ASKS.options, times: 1, since: '2026-01-01T00:00:00Z' },
    ...{ words: false, by: 'protocol', agent_id: 't', shown: 's', place: null, author: null },
  } as never,
]);

const terminal = {
  terminal_id: 't',
  name: 'bash',
  state: 'running',
  argv: ['/bin/bash'],
} as unknown as Terminal;
const looks = { look: { split: false, blanks: true }, onLook: nothing, onHelp: nothing };
const compared = { repo: 0, against: 'base', checkpoint: null } as const;
const lines = ['+x'];
const diff = {
  path: 'a.py',
  truncated: false,
  hunks: [{ old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines }],
};
const PARTS: readonly Part[] = [
  {
    name: 'log',
    draw: draw(LogPane, { sandbox: SANDBOX, waitsForTerminal: true }),
    works: ['Open a terminal'],
  },
  {
    name: 'set-up',
    draw: draw(SetupNote, { sandbox: SANDBOX }),
    manages: ['Run it again', 'Start the task anyway'],
  },
  {
    name: 'tab',
    draw: handed(TabInRow, (works) => ({
      ...{ terminal, status: undefined, agent: null, selected: true },
      ...{ onChoose: nothing, onMove: nothing },
      onClose: works ? nothing : null,
      onRename: works ? nothing : null,
    })),
    works: ['Close bash', 'F2 renames'],
  },
  {
    name: 'agent at a terminal',
    draw: draw(AgentBar, { sandboxId: 'sb', terminalId: 't', agent: STRICT }),
    works: ['Interrupt', 'Pause', 'Stop'],
    owns: ['Type anyway'],
  },
  {
    name: 'question of an agent',
    draw: handed(Answer, (works) => ({
      ...{ card: ASKS, onAnswer: never, works, onTerminal: null },
    })),
    works: ['Allow it'],
  },
  {
    name: 'line to an agent',
    draw: handed(AskBar, (works) =>
      works ? { place: 'sb:t', agent: 'claude', locked: false, onAsk: never } : null,
    ),
    works: ['Ask claude'],
  },
  { name: 'inbox', draw: draw(InboxPage, { onMenu: nothing }), works: ['Allow it', 'Open'] },
  {
    name: 'changes',
    draw: handed(ReviewTools, (works) => ({
      ...{ sandbox: SANDBOX, edits: works, compared, onCompare: nothing, ...looks },
      changes: CHANGES as unknown as Changes,
    })),
    works: ['Commit…'],
  },
  {
    name: 'diff',
    draw: handed(DiffView, (works) => ({
      ...{ file: diff as never, split: false, editing: null, cursor: 0 },
      threads: [{ thread: THREAD, side: 'new', line: 1 } as const],
      ...{ onRows: nothing, onSave: () => Promise.resolve(false) },
      acts: works ? ACTS : null,
      onEdit: works ? nothing : null,
      onDiscard: works ? nothing : null,
    })),
    works: ['Comment on line 1', 'Discard', 'Reply', 'Resolve', 'Edit', 'Remove'],
  },
  {
    name: 'comments',
    draw: handed(CommentBar, (works) => ({
      ...{ sandboxId: 'sb', acts: works ? ACTS : null, openerOf: () => null },
      outbox: {
        ...{ open: [THREAD], unsent: [THREAD] },
        ...{ agents: [], agent: { id: 't', agent: 'claude' } as never, busy: false },
        ...{ queued: false, sending: false, choose: nothing, send: nothing },
      },
    })),
    works: ['Send to claude', 'Resolve', 'Remove'],
  },
  {
    name: 'keys of the review',
    draw: handed(KeyList, (works) => ({ works })),
    works: ['comment on the line', 'discard the change', 'send the comments now'],
  },
  {
    name: 'agents to choose from',
    draw: draw(FirstAgent, {
      onMended: nothing,
      agents: [
        {
          ...{ name: 'goose', prompts: true, state: 'not_installed', reason: 'It is missing.' },
          ...{ mend: null, install: null, about_mib: 0, providers: [] },
        } as never,
      ],
    }),
    administers: ['Install<'],
  },
  {
    name: 'palette',
    draw: () =>
      commandsOf({
        ...{ sandbox: sandboxes.get()?.[0] ?? null, list: [], onAct: nothing },
        ...{ onHome: nothing, onNew: nothing, onLogOut: nothing },
      })
        .map(({ words }) => `>${words}<`)
        .join(' '),
    works: ['New terminal', 'New task or sandbox', 'Secrets and approvals', 'Workers'],
    manages: ['Stop this sandbox', 'Destroy this sandbox', 'Pull its work'],
    administers: ['Every sandbox', 'Audit log'],
  },
  {
    name: 'rail',
    draw: draw(Rail, { onNew: nothing, onPalette: nothing, onPick: nothing }),
    works: ['New task'],
  },
  {
    name: 'places of the rail',
    draw: () =>
      offeredPlaces(team.get())
        .map(({ words }) => words)
        .join(' '),
    works: ['Secrets and approvals', 'Workers'],
    administers: ['Administration'],
  },
];

describe.each(['owner', 'admin', 'member', 'viewer', null] as const)('to %s', (role) => {
  it.each(['own', 'others'] as const)('of a sandbox of their %s', (whose) => {
    become(role, whose);
    const works = role !== null && role !== 'viewer';
    const administers = role === 'owner' || role === 'admin';
    const owns = works && whose === 'own';
    for (const part of PARTS) {
      // These are of a page that a guest does not have.
      const shells = ['palette', 'rail', 'places of the rail', 'inbox', 'agents to choose from'];
      if (role === null && shells.includes(part.name)) continue;
      const html = part.draw();
      const rows: readonly (readonly [boolean, readonly string[] | undefined])[] = [
        [works, part.works],
        [owns || administers, part.manages],
        [owns, part.owns],
        [administers, part.administers],
      ];
      for (const [offered, labels = []] of rows) {
        for (const words of labels) {
          expect(`${part.name}, ${words}: ${html.includes(words)}`).toBe(
            `${part.name}, ${words}: ${offered}`,
          );
        }
      }
    }
  });
});
