/** What things are: states, agents and people; and the ways from one to another. */

import { useState } from 'react';
import type { AgentStatus, SandboxState, Terminal } from '../api/types';
import { AgentShape } from '../components/agents/AgentMark';
import { Avatar } from '../components/parts/Avatar';
import { Icon } from '../components/parts/icons';
import { Pop } from '../components/parts/Pop';
import { RichText } from '../components/parts/RichText';
import { Tab } from '../components/parts/Tab';
import { panelOf, PlainTab, TabList } from '../components/parts/TabList';
import { StateMark, stateWords } from '../components/sandboxes/StateMark';
import { t, worded } from '../language/t';
import { statusWords } from '../state/attention/agents';
import { UNTOLD } from '../terminal/attach/status';
import { keep } from './Controls';
import { Specimen, Specimens } from './Specimens';

const NAMES = worded(() => [
  t`Ada Lovelace`,
  t`Bo`,
  t`Chinua Achebe`,
  t`Dai`,
  t`Emmy Noether`,
  t`Fei-Fei Li`,
]);
const SAID = worded(
  () => t`The test fails in \`parse\`: **two** spaces.
\`\`\`
assert 1 == 2
\`\`\``,
);

export function Marks() {
  return (
    <Specimens title={t`States, agents and people`}>
      {(Object.keys(stateWords()) as SandboxState[]).map((state) => (
        <Specimen key={state} state={t`a sandbox`}>
          <StateMark state={state} />
        </Specimen>
      ))}
      {(Object.keys(statusWords()) as AgentStatus['status'][]).map((status) => (
        <Specimen key={status} state={t`an agent`}>
          <span className={`state does-${status}`}>
            <AgentShape status={status} />
            {statusWords()[status]}
          </span>
        </Specimen>
      ))}
      {NAMES().map((name, at) => (
        <Specimen key={name} state={at === 0 ? t`${name} drives` : name}>
          <Avatar name={name} principal={name} drives={at === 0} />
        </Specimen>
      ))}
      <Specimen state={t`counts and badges`}>
        <span className="count">3</span> <span className="badge">{t`exit 0`}</span>{' '}
        <span className="badge badge-warn">{t`offline`}</span>{' '}
        <span className="badge badge-bad">{t`exit 1`}</span>
      </Specimen>
      <Specimen state={t`what an agent said`} wide>
        <RichText text={SAID()} />
      </Specimen>
    </Specimens>
  );
}

const EXAMPLE: Terminal = {
  terminal_id: 'example',
  name: 'shell',
  argv: ['bash'],
  cwd: '/workspace',
  state: 'running',
  exit: null,
  renamed: false,
  title: '',
} as unknown as Terminal;

const TABS = ['design-one', 'design-two', 'design-log'] as const;

export function Navigation() {
  const [chosen, setChosen] = useState<string>(TABS[0]);
  const status = { ...UNTOLD, exit: { kind: 'code', code: 1 } } as const;
  const tab = (id: string, name: string) => ({
    terminal: { ...EXAMPLE, terminal_id: id, name },
    selected: chosen === id,
    onChoose: () => setChosen(id),
    onClose: keep,
    onRename: keep,
    onMove: keep,
  });
  return (
    <Specimens title={t`Ways`}>
      <Specimen state={t`tabs: an agent, one that ended, one that stays`} wide>
        <TabList keys={TABS} chosen={chosen}>
          <Tab {...tab(TABS[0], 'codex')} status={undefined} agent="codex" />
          <Tab {...tab(TABS[1], 'tests')} status={status} agent={null} />
          <PlainTab
            id={TABS[2]}
            icon="log"
            selected={chosen === TABS[2]}
            onChoose={() => setChosen(TABS[2])}
          >
            {t`Log`}
          </PlainTab>
        </TabList>
        <p {...panelOf(chosen)} className="quiet">
          {t`What the chosen tab shows`}
        </p>
      </Specimen>
      <Specimen state={t`a word with more behind it`}>
        <Pop summary={t`9 days left`}>{() => <p>{t`It ends by itself on Friday.`}</p>}</Pop>
      </Specimen>
      <Specimen state={t`… that warns`}>
        <Pop summary={t`2 hours left`} tone="fact-warn">
          {() => <p>{t`It ends soon.`}</p>}
        </Pop>
      </Specimen>
      <Specimen state={t`a card that is pressed`} wide>
        <div className="card">
          <button type="button" className="card-face">
            <span className="card-title">
              <Icon name="agent" />
              {t`default`}
            </span>
            <span className="card-note">{t`An agent with a shell and a network of allowed hosts`}</span>
          </button>
        </div>
      </Specimen>
    </Specimens>
  );
}
