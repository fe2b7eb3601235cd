/** The controls above a preview: its port, its address, and how wide it is shown. */

import { Radio } from '@base-ui/react/radio';
import { RadioGroup } from '@base-ui/react/radio-group';
import { useState, type ReactNode } from 'react';
import { t } from '../../language/t';
import { notify } from '../../state/announce';
import { readAddress } from '../../state/previews/places';
import { openPort } from '../../state/previews/ports';
import { Icon } from '../parts/icons';
import type { Preview } from './usePreview';

export type Width = 'phone' | 'tablet' | 'full';

/** Pixels of the widths that are not the pane's own. */
export const WIDTHS: Readonly<Record<Width, number | null>> = {
  phone: 390,
  tablet: 768,
  full: null,
};

interface PreviewBarProps {
  readonly sandboxId: string;
  readonly preview: Preview;
  readonly width: Width;
  readonly onWidth: (width: Width) => void;
  /** What its page reports. */
  readonly children: ReactNode;
}

export function PreviewBar({ sandboxId, preview, width, onWidth, children }: PreviewBarProps) {
  const { place, src, reload } = preview;
  const { port, path } = place;
  return (
    <div className="preview-bar" role="toolbar" aria-label={t`Preview`}>
      <PortChoice preview={preview} />
      <Address key={`${port ?? ''}${path}`} preview={preview} />
      <button
        type="button"
        className="button-icon"
        aria-label={t`Reload`}
        title={t`Reload`}
        disabled={src === null}
        onClick={reload}
      >
        <Icon name="recreate" />
      </button>
      {children}
      <Widths width={width} onWidth={onWidth} />
      <button
        type="button"
        className="button-icon"
        aria-label={t`Open in a tab`}
        title={t`Open in a tab`}
        disabled={port === null}
        onClick={() => port !== null && void openPort(sandboxId, port, path)}
      >
        <Icon name="alone" />
      </button>
    </div>
  );
}

function PortChoice({ preview: { listening, place, show } }: { readonly preview: Preview }) {
  const { port } = place;
  const known = port === null || listening.includes(port) ? listening : [port, ...listening];
  return (
    <select
      className="preview-port"
      aria-label={t`Port`}
      value={port ?? ''}
      disabled={known.length === 0}
      onChange={({ target }) => show({ port: Number(target.value), path: '/' })}
    >
      {port === null && <option value="">{t`no port`}</option>}
      {known.map((one) => (
        <option key={one} value={one}>
          {`:${one}`}
        </option>
      ))}
    </select>
  );
}

/** The path, which Enter opens; `:PORT/path` leads to another port. */
function Address({ preview: { place, show } }: { readonly preview: Preview }) {
  const [typed, setTyped] = useState(place.path);
  return (
    <form
      className="preview-address"
      onSubmit={(event) => {
        event.preventDefault();
        const next = readAddress(typed, place);
        if (next === null) notify(t`That leads to no server of this sandbox.`, 'bad');
        else show(next);
      }}
    >
      <input
        aria-label={t`Address`}
        spellCheck={false}
        autoComplete="off"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setTyped(place.path);
        }}
      />
    </form>
  );
}

function Widths({ width, onWidth }: Pick<PreviewBarProps, 'width' | 'onWidth'>) {
  const choices: readonly (readonly [Width, string, string])[] = [
    ['phone', t`Phone`, t`390 pixels wide`],
    ['tablet', t`Tablet`, t`768 pixels wide`],
    ['full', t`Full`, t`As wide as the pane`],
  ];
  return (
    <RadioGroup<Width>
      className="segments preview-widths"
      aria-label={t`Width`}
      value={width}
      onValueChange={onWidth}
    >
      {choices.map(([value, words, title]) => (
        <Radio.Root key={value} value={value} className="segment" title={title}>
          {words}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}
