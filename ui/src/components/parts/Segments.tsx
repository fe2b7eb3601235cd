/** A few choices side by side, of which one holds. */

import { useId } from 'react';

interface SegmentsProps<Value extends string> {
  readonly legend: string;
  readonly choices: readonly { readonly value: Value; readonly words: string }[];
  readonly chosen: Value | null;
  readonly disabled?: boolean;
  readonly onChoose: (value: Value) => void;
}

export function Segments<Value extends string>(props: SegmentsProps<Value>) {
  const { legend, choices, chosen, disabled = false, onChoose } = props;
  const name = useId();
  return (
    <fieldset className="form-group" disabled={disabled}>
      <legend>{legend}</legend>
      <div className="segments">
        {choices.map(({ value, words }) => (
          <label key={value} className="segment">
            <input
              type="radio"
              name={name}
              checked={value === chosen}
              onChange={() => onChoose(value)}
            />
            <span>{words}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
