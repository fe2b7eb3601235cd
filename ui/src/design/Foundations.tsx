/** Colours, type and icons, by the names that everything else refers to. */

import { Icon, ICONS, Mark } from '../components/parts/icons';
import { Specimen, Specimens } from './Specimens';

const SURFACES = ['bg', 'surface', 'raised', 'sunk', 'accent-soft', 'warn-soft', 'bad-soft'];
const INKS = ['ink', 'ink-2', 'ink-3', 'accent', 'ok', 'warn', 'bad'];
const SIZES = ['text-display', 'text-title', 'text-large', 'text', 'text-small'];
const EDGES = ['line', 'line-2', 'focus'];

export function Foundations() {
  return (
    <>
      <Specimens title="Surfaces, text and lines">
        <ul className="design-swatches">
          {SURFACES.map((name) => (
            <li key={name} className={`design-swatch design-on-${name}`}>
              --{name}
            </li>
          ))}
        </ul>
        <ul className="design-swatches">
          {INKS.map((name) => (
            <li key={name} className={`design-swatch design-in-${name}`}>
              --{name}
            </li>
          ))}
          {EDGES.map((name) => (
            <li key={name} className={`design-swatch design-edge-${name}`}>
              --{name}
            </li>
          ))}
        </ul>
      </Specimens>
      <Specimens title="Type">
        {SIZES.map((name) => (
          <Specimen key={name} state={`--${name}`} wide>
            <p className={`design-${name}`}>
              An agent needs you: feat/Il10 <span>is ready</span> <b>+3 −2</b>
            </p>
          </Specimen>
        ))}
        <Specimen state="text">
          <p>Commits come home as a branch.</p>
        </Specimen>
        <Specimen state="quiet">
          <p className="quiet">Last seen four minutes ago</p>
        </Specimen>
        <Specimen state="code and keys">
          <p>
            <code>atoll pull</code> · <kbd>Ctrl</kbd> <kbd>K</kbd>
          </p>
        </Specimen>
        <Specimen state="a command" wide>
          <pre className="command">
            <span aria-hidden="true">$ </span>
            <code>atoll up</code>
          </pre>
        </Specimen>
      </Specimens>
      <Specimens title="Icons">
        <ul className="design-icons">
          {ICONS.map((name) => (
            <li key={name}>
              <Icon name={name} />
              <span>{name}</span>
            </li>
          ))}
          <li>
            <Mark />
            <span>Mark</span>
          </li>
        </ul>
      </Specimens>
    </>
  );
}
