/** An image, as data of the kind that its first bytes say: a name or a header decides nothing. */

import { useEffect, useMemo, useState } from 'react';
import { t } from '../../../language/t';
import { imageType, PIXELS_MAX, pixelsOf } from './kinds';

export function ImagePane({ bytes, name }: { readonly bytes: Uint8Array; readonly name: string }) {
  const type = imageType(bytes);
  const pixels = useMemo(() => pixelsOf(bytes), [bytes]);
  const fits = pixels !== null && pixels.width * pixels.height <= PIXELS_MAX;
  const [url, setUrl] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    if (type === null || !fits) return;
    let gone = false;
    const reader = new FileReader();
    reader.onload = () => {
      if (!gone) setUrl(reader.result as string);
    };
    reader.readAsDataURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    return () => {
      gone = true;
    };
  }, [bytes, type, fits]);
  if (!fits || broken) {
    return (
      <p className="viewer-note quiet">
        {broken || pixels === null
          ? t`This image is broken.`
          : t`This image is too large to be shown.`}
      </p>
    );
  }
  return (
    <div className="viewer-image">
      {url !== null && <img src={url} alt={name} onError={() => setBroken(true)} />}
      <p className="quiet">
        {pixels.width} × {pixels.height}
      </p>
    </div>
  );
}
