/** The controls above a preview: its port, its address, and how wide it is shown. */

import { useState, type ReactNode } from 'react';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import { readAddress, type PreviewPlace } from '../../state/previews/places';
import { openPort } from '../../state/previews/ports';
import { Icon } from '../parts/icons';
import { Segments, type Choice } from '../parts/Segments';
import type { Preview } from './usePreview';

export type Width = 'phone' | 'tablet' | 'full';

/** Pixels of the widths that are not the pane's own. */
export const WIDTHS: Readonly<Record<Width, number | null>> = {
  phone: 390,
  tablet: 768,
  full: null,
};

const WIDTH_WORDS = worded<readonly Choice<Width>[]>(() => [
  { value: 'phone', words: t`Phone`, title: t`390 pixels wide` },
  { value: 'tablet', words: t`Tablet`, title: t`768 pixels wide` },
  { value: 'full', words: t`Full`, title: t`As wide as the pane` },
]);

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
  // Null while nobody types: then it is where the preview is.
  const [typed, setTyped] = useState<string | null>(null);
  const show = (next: PreviewPlace): void => {
    setTyped(null);
    preview.show(next);
  };
  return (
    <div className="preview-bar" role="toolbar" aria-label={t`Preview`}>
      <PortChoice listening={preview.listening} port={port} onShow={show} />
      <Address {...{ place, typed }} onType={setTyped} onShow={show} />
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
      <Segments legend={t`Width`} quiet choices={WIDTH_WORDS()} chosen={width} onChoose={onWidth} />
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

interface PortChoiceProps {
  readonly listening: readonly number[];
  readonly port: number | null;
  readonly onShow: (place: PreviewPlace) => void;
}

function PortChoice({ listening, port, onShow }: PortChoiceProps) {
  const known = port === null || listening.includes(port) ? listening : [port, ...listening];
  return (
    <select
      className="preview-port"
      aria-label={t`Port`}
      value={port ?? ''}
      disabled={known.length === 0}
      onChange={({ target }) => onShow({ port: Number(target.value), path: '/' })}
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

interface AddressProps {
  readonly place: PreviewPlace;
  readonly typed: string | null;
  readonly onType: (typed: string | null) => void;
  readonly onShow: (place: PreviewPlace) => void;
}

/** The path, which Enter opens; `:PORT/path` leads to another port. */
function Address({ place, typed, onType, onShow }: AddressProps) {
  return (
    <form
      className="preview-address"
      onSubmit={(event) => {
        event.preventDefault();
        const next = readAddress(typed ?? place.path, place);
        if (next === null) notify(t`That leads to no server of this sandbox.`, 'bad');
        else onShow(next);
      }}
    >
      <input
        aria-label={t`Address`}
        spellCheck={false}
        autoComplete="off"
        value={typed ?? place.path}
        onChange={({ target }) => onType(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onType(null);
        }}
      />
    </form>
  );
}
