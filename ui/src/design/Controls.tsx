/** What is pressed, chosen and filled in. */

import { useState } from 'react';
import { Field } from '../components/parts/Field';
import { Icon } from '../components/parts/icons';
import { OnceShown } from '../components/parts/OnceShown';
import { Segments } from '../components/parts/Segments';
import { Specimen, Specimens } from './Specimens';

const BUTTONS = [
  ['plain', 'button'],
  ['primary', 'button button-primary'],
  ['ends something', 'button button-danger'],
  ['leads to an end', 'button button-destroy'],
  ['small', 'button button-small'],
] as const;

export function Controls() {
  return (
    <Specimens title="Buttons">
      {BUTTONS.map(([state, name]) => (
        <Specimen key={state} state={state}>
          <button type="button" className={name}>
            Press
          </button>
        </Specimen>
      ))}
      {BUTTONS.slice(0, 3).map(([state, name]) => (
        <Specimen key={state} state={`${state}, disabled`}>
          <button type="button" className={name} disabled>
            Press
          </button>
        </Specimen>
      ))}
      <Specimen state="with an icon">
        <button type="button" className="button">
          <Icon name="plus" />
          New terminal
        </button>
      </Specimen>
      <Specimen state="icon alone">
        <button type="button" className="button-icon" aria-label="Search" title="Search">
          <Icon name="search" />
        </button>
      </Specimen>
    </Specimens>
  );
}

export function Fields() {
  const [checked, setChecked] = useState(true);
  const [chosen, setChosen] = useState<'read' | 'write'>('read');
  const choices = [
    { value: 'read', words: 'Watch' },
    { value: 'write', words: 'Drive' },
  ] as const;
  return (
    <Specimens title="Fields">
      <Specimen state="empty, with a hint" wide>
        <Field label="Branch" hint="Made anew when there is none" trouble={null}>
          {(wiring) => <input {...wiring} placeholder="fix" />}
        </Field>
      </Specimen>
      <Specimen state="refused" wide>
        <Field label="Name" trouble="There is a sandbox of this name: choose another.">
          {(wiring) => <input {...wiring} defaultValue="billing" />}
        </Field>
      </Specimen>
      <Specimen state="disabled" wide>
        <Field label="Repository" hint="Given by the profile" trouble={null}>
          {(wiring) => <input {...wiring} disabled defaultValue="owner/repo" />}
        </Field>
      </Specimen>
      <Specimen state="a choice of many" wide>
        <Field label="Network" hint="What programs inside may reach" trouble={null}>
          {(wiring) => (
            <select {...wiring}>
              <option>Allowed hosts</option>
              <option>None</option>
            </select>
          )}
        </Field>
      </Specimen>
      <Specimen state="a choice of few">
        <Segments legend="A guest may" {...{ choices, chosen }} onChoose={setChosen} />
      </Specimen>
      <Specimen state="disabled">
        <Segments legend="A viewer may" choices={choices} chosen="read" disabled onChoose={keep} />
      </Specimen>
      <Specimen state="yes or no">
        <label className="check">
          <input
            type="checkbox"
            checked={checked}
            onChange={(event) => setChecked(event.target.checked)}
          />
          Keep its files
        </label>
      </Specimen>
      <Specimen state="shown once" wide>
        <OnceShown label="Example of a link" value="https://atoll.example/#share=example">
          <p>This link is shown once.</p>
        </OnceShown>
      </Specimen>
    </Specimens>
  );
}

/** An example that nothing follows from. */
export function keep(): void {
  // Only shown.
}
