/** A labelled form field with its hint and its trouble, tied together for screen readers. */

import { useId, type ReactNode } from 'react';

const NAMES = [
  'profile',
  'repo_url',
  'branch',
  'from_branch',
  'name',
  'ttl',
  'network_mode',
] as const;
export type FieldName = (typeof NAMES)[number];

/** The form's field a problem document's `field` means (`repos[0].branch` is `branch`). */
export function fieldOf(path: string | null): FieldName | null {
  const parts = (path ?? '').split(/[.[\]]+/).filter((part) => part !== '' && !/^\d+$/.test(part));
  const last = parts.at(-1);
  if (last === 'repos' || last === 'key') return 'repo_url';
  return NAMES.find((name) => name === last) ?? null;
}

interface Wiring {
  readonly id: string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid': boolean;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly trouble: string | null;
  readonly grow?: boolean;
  readonly children: (wiring: Wiring) => ReactNode;
}

export function Field({ label, hint, trouble, grow = false, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div className={grow ? 'field field-grow' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': noteId, 'aria-invalid': trouble !== null })}
      <p
        id={noteId}
        className={trouble === null ? 'field-hint' : 'field-trouble'}
        role={trouble === null ? undefined : 'alert'}
      >
        {trouble ?? hint}
      </p>
    </div>
  );
}

interface PartProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly trouble?: string | null;
  readonly grow?: boolean;
  readonly onChange: (value: string) => void;
}

interface ChoiceProps extends PartProps {
  /** Its options. */
  readonly children: ReactNode;
}

/** One of many, by their words. */
export function Choice({ value, trouble = null, onChange, children, ...rest }: ChoiceProps) {
  return (
    <Field {...rest} trouble={trouble}>
      {(wiring) => (
        <select {...wiring} value={value} onChange={(event) => onChange(event.target.value)}>
          {children}
        </select>
      )}
    </Field>
  );
}

interface LineProps extends PartProps {
  readonly placeholder?: string;
  /** Whether it is never shown, nor kept by the browser. */
  readonly hidden?: boolean;
}

/** A line of text that is a name, an address or a number to programs, and no prose. */
export function Line(props: LineProps) {
  const { value, trouble = null, placeholder, hidden = false, onChange, ...rest } = props;
  return (
    <Field {...rest} trouble={trouble}>
      {(wiring) => (
        <input
          {...wiring}
          type={hidden ? 'password' : 'text'}
          autoComplete={hidden ? 'new-password' : 'off'}
          autoCapitalize="off"
          spellCheck={false}
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
