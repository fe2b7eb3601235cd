/**
 * Keys a touch screen has not got, and a line to compose in. Shown by the style sheet
 * where the pointer is coarse; a phone's own keyboard and xterm's hidden input disagree
 * about composed text, so a line is written here and sent whole.
 */

import { useState } from 'react';
import { t, worded } from '../../language/t';
import type { TerminalView } from '../../terminal/screen/view';

interface TouchProps {
  readonly view: TerminalView;
  /** Nothing typed can arrive any more. */
  readonly off: boolean;
}

const KEYS = worded<
  readonly { label: string; name: string; plain: string; application?: string }[]
>(() => [
  { label: t`Esc`, name: t`Esc`, plain: '\x1b' },
  { label: t`Tab`, name: t`Tab`, plain: '\t' },
  { label: t`⇧Tab`, name: t`Shift Tab`, plain: '\x1b[Z' },
  { label: t`^C`, name: t`Control C`, plain: '\x03' },
  { label: t`^D`, name: t`Control D`, plain: '\x04' },
  { label: '↑', name: t`Up`, plain: '\x1b[A', application: '\x1bOA' },
  { label: '↓', name: t`Down`, plain: '\x1b[B', application: '\x1bOB' },
  { label: '←', name: t`Left`, plain: '\x1b[D', application: '\x1bOD' },
  { label: '→', name: t`Right`, plain: '\x1b[C', application: '\x1bOC' },
  { label: '⏎', name: t`Enter`, plain: '\r' },
]);

export function TouchKeys({ view, off }: TouchProps) {
  return (
    <div className="touch-keys" role="toolbar" aria-label={t`Terminal keys`}>
      {KEYS().map(({ label, name, plain, application }) => (
        <button
          key={name}
          type="button"
          aria-label={name}
          disabled={off}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => view.type(view.applicationKeys ? (application ?? plain) : plain)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export function ComposeBar({ view, off }: TouchProps) {
  const [line, setLine] = useState('');
  return (
    <form
      className="compose"
      onSubmit={(event) => {
        event.preventDefault();
        if (!view.ready()) return;
        if (line !== '') view.paste(line);
        if (view.type('\r')) setLine('');
      }}
    >
      <textarea
        rows={1}
        aria-label={t`Type a line for the terminal`}
        placeholder={off ? t`Typing is off` : t`Type here`}
        disabled={off}
        autoCapitalize="off"
        autoCorrect="off"
        spellCheck={false}
        value={line}
        onChange={(event) => setLine(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
      />
      <button type="submit" className="button button-primary" disabled={off}>
        {t`Send`}
      </button>
    </form>
  );
}
