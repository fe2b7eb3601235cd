/** The picture of an element that was picked, and whether it goes with the prompt. */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { draw, type DrawnPicture } from '../../state/previews/picture';
import type { Picture } from '../../state/previews/reports';

/** The picture as it is drawn here; null where there is none. */
export type Shown = DrawnPicture | 'coming' | null;

/** Draws what the page sent. */
export function useDrawn(picture: Picture): Shown {
  const [drawn, setDrawn] = useState<DrawnPicture | null | undefined>(undefined);
  const png = picture instanceof ArrayBuffer ? picture : null;
  useEffect(() => {
    if (png === null) return;
    let gone = false;
    const settle = (found: DrawnPicture | null): void => {
      if (!gone) setDrawn(found);
    };
    draw(png).then(settle, () => settle(null));
    return () => {
      gone = true;
    };
  }, [png]);
  if (picture === 'none') return null;
  return png === null || drawn === undefined ? 'coming' : drawn;
}

interface PictureChoiceProps {
  readonly shown: Shown;
  readonly goes: boolean;
  readonly onChange: (goes: boolean) => void;
}

export function PictureChoice({ shown, goes, onChange }: PictureChoiceProps) {
  if (shown === 'coming') return <p className="quiet">{t`Its picture is being taken…`}</p>;
  if (shown === null)
    return (
      <p className="quiet">
        {t`There is no picture of it: the page forbids pictures, or it is too large or out of view.`}
      </p>
    );
  return (
    <div className="preview-picture">
      <label className="check">
        <input type="checkbox" checked={goes} onChange={({ target }) => onChange(target.checked)} />
        {t`With its picture, as a file in the sandbox`}
      </label>
      {goes && <img src={shown.url} alt={t`The element that was picked`} />}
    </div>
  );
}
