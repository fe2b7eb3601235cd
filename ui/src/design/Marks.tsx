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
import { statusWords } from '../state/attention/agents';
import { UNTOLD } from '../terminal/attach/status';
import { keep } from './Controls';
import { Specimen, Specimens } from './Specimens';

const NAMES = ['Ada Lovelace', 'Bo', 'Chinua Achebe', 'Dai', 'Emmy Noether', 'Fei-Fei Li'];
const SAID = 'The test fails in `parse`: **two** spaces.\n```\nassert 1 == 2\n```';

export function Marks() {
  return (
    <Specimens title="States, agents and people">
      {(Object.keys(stateWords) as SandboxState[]).map((state) => (
        <Specimen key={state} state="a sandbox">
          <StateMark state={state} />
        </Specimen>
      ))}
      {(Object.keys(statusWords()) as AgentStatus['status'][]).map((status) => (
        <Specimen key={status} state="an agent">
          <span className={`state does-${status}`}>
            <AgentShape status={status} />
            {statusWords()[status]}
          </span>
        </Specimen>
      ))}
      {NAMES.map((name, at) => (
        <Specimen key={name} state={at === 0 ? `${name} drives` : name}>
          <Avatar name={name} principal={name} drives={at === 0} />
        </Specimen>
      ))}
      <Specimen state="counts and badges">
        <span className="count">3</span> <span className="badge">exit 0</span>{' '}
        <span className="badge badge-warn">offline</span>{' '}
        <span className="badge badge-bad">exit 1</span>
      </Specimen>
      <Specimen state="what an agent said" wide>
        <RichText text={SAID} />
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
    <Specimens title="Ways">
      <Specimen state="tabs: an agent, one that ended, one that stays" wide>
        <TabList keys={TABS} chosen={chosen}>
          <Tab {...tab(TABS[0], 'codex')} status={undefined} agent="codex" />
          <Tab {...tab(TABS[1], 'tests')} status={status} agent={null} />
          <PlainTab
            id={TABS[2]}
            icon="log"
            selected={chosen === TABS[2]}
            onChoose={() => setChosen(TABS[2])}
          >
            Log
          </PlainTab>
        </TabList>
        <p {...panelOf(chosen)} className="quiet">
          What the chosen tab shows
        </p>
      </Specimen>
      <Specimen state="a word with more behind it">
        <Pop summary="9 days left">{() => <p>It ends by itself on Friday.</p>}</Pop>
      </Specimen>
      <Specimen state="… that warns">
        <Pop summary="2 hours left" tone="fact-warn">
          {() => <p>It ends soon.</p>}
        </Pop>
      </Specimen>
      <Specimen state="… that opens above">
        <Pop summary="Ada Lovelace" above>
          {() => <p>Acme · Owner</p>}
        </Pop>
      </Specimen>
      <Specimen state="a card that is pressed" wide>
        <div className="card">
          <button type="button" className="card-face">
            <span className="card-title">
              <Icon name="agent" />
              default
            </span>
            <span className="card-note">An agent with a shell and a network of allowed hosts</span>
          </button>
        </div>
      </Specimen>
    </Specimens>
  );
}
