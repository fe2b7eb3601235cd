/** Both sides of a changed image, and the sizes of a binary file.
 *
 * The server sends only what is a raster image by its bytes; it is shown as data, which runs
 * nothing.
 */

import { useEffect, useState } from 'react';
import { t } from '../../language/t';
import { reviews, type ChangedFile } from './reviews';
import { visible } from '../../unseen';

const IMAGE = /\.(?:png|jpe?g|gif|webp)$/i;
const SHOWN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

export const isImage = (path: string): boolean => IMAGE.test(path);

interface ImagePairProps {
  readonly id: string;
  readonly repo: number;
  readonly base: string | null;
  readonly file: ChangedFile;
}

export function ImagePair({ id, repo, base, file }: ImagePairProps) {
  const { path, old_path: old, kind, old_size: before, new_size: now } = file;
  return (
    <div className="review-images">
      {base !== null && kind !== 'added' && (
        <Side {...{ id, repo }} path={old ?? path} commit={base} name="Before" size={before} />
      )}
      {kind !== 'deleted' && <Side {...{ id, repo, path }} commit={null} name="After" size={now} />}
    </div>
  );
}

interface SideProps {
  readonly id: string;
  readonly repo: number;
  readonly path: string;
  readonly commit: string | null;
  readonly name: string;
  readonly size: number | null;
}

function Side({ id, repo, path, commit, name, size }: SideProps) {
  const [shown, setShown] = useState<{ url: string | null; words: string }>({
    url: null,
    words: t`Loading…`,
  });
  const [pixels, setPixels] = useState('');
  useEffect(() => {
    let gone = false;
    reviews
      .image(id, repo, path, commit)
      .then(dataOf)
      .then(
        (url) => gone || setShown({ url, words: '' }),
        (reason: unknown) =>
          gone || setShown({ url: null, words: reason instanceof Error ? reason.message : '' }),
      );
    return () => {
      gone = true;
    };
  }, [id, repo, path, commit]);
  return (
    <figure>
      <figcaption className="quiet">
        {[name, pixels, size === null ? '' : bytesOf(size)].filter(Boolean).join(' · ')}
      </figcaption>
      {shown.url === null ? (
        <p className="quiet">{visible(shown.words)}</p>
      ) : (
        <img
          src={shown.url}
          alt={`${name}: ${visible(path)}`}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setPixels(`${naturalWidth} × ${naturalHeight}`)
          }
        />
      )}
    </figure>
  );
}

/** The image as an address of its own. */
function dataOf(image: Blob): Promise<string> {
  if (!SHOWN.includes(image.type)) throw new Error('This is no image that can be shown.');
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => failed(new Error('The image could not be read.'));
    reader.readAsDataURL(image);
  });
}

/** `12.0 KiB → 13.5 KiB`; one of them where the other side is not there. */
export function sizesOf({ old_size: before, new_size: now }: ChangedFile): string {
  const sizes = [before, now].filter((size) => size !== null).map(bytesOf);
  return sizes.join(' → ') || t`its size is not known`;
}

function bytesOf(size: number): string {
  const steps = [t`bytes`, t`KiB`, t`MiB`, t`GiB`];
  let value = size;
  let step = 0;
  while (value >= 1024 && step < steps.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${step === 0 ? value : value.toFixed(1)} ${steps[step] ?? ''}`;
}
