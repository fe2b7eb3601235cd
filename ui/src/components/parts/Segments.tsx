/** A few choices side by side, of which one holds. */

import { Radio } from '@base-ui/react/radio';
import { RadioGroup } from '@base-ui/react/radio-group';
import { useId } from 'react';

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly words: string;
  /** What the words leave out. */
  readonly title?: string;
}

interface SegmentsProps<Value extends string> {
  readonly legend: string;
  /** Whether the legend is for screen readers alone. */
  readonly quiet?: boolean;
  readonly choices: readonly Choice<Value>[];
  readonly chosen: Value | null;
  readonly disabled?: boolean;
  readonly onChoose: (value: Value) => void;
}

export function Segments<Value extends string>(props: SegmentsProps<Value>) {
  const { legend, quiet = false, choices, chosen, disabled = false, onChoose } = props;
  const id = useId();
  return (
    <fieldset className="form-group" disabled={disabled}>
      <legend id={id} className={quiet ? 'spoken' : undefined}>
        {legend}
      </legend>
      <RadioGroup<Value | null>
        className="segments"
        aria-labelledby={id}
        value={chosen}
        disabled={disabled}
        onValueChange={(value) => value !== null && onChoose(value)}
      >
        {choices.map(({ value, words, title }) => (
          <Radio.Root key={value} value={value} className="segment" title={title}>
            {words}
          </Radio.Root>
        ))}
      </RadioGroup>
    </fieldset>
  );
}
