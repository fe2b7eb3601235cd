/** Rich text on a colour, as a post-it, or on nothing. */

import { useEffect, useRef, type RefObject } from 'react';
import { t } from '../../language/t';
import { changeItems } from '../document/acts';
import { COLOURS, nameOf, type Item } from '../document/items';
import type { Stage } from '../view/stage';
import { RichLines } from './RichLines';
import { TextEditor } from './TextEditor';

interface NoteProps {
  readonly stage: Stage;
  readonly item: Item;
  readonly inside: boolean;
}

export function Note({ stage, item, inside }: NoteProps) {
  const { text, rev, kind } = item;
  const part = useGrowth(stage, item, inside && stage.edits);
  const look = kind === 'text' ? 'note note-plain' : `note note-${item.colour}`;
  return (
    <div ref={part} className={look}>
      {inside && text !== null && stage.edits ? (
        <TextEditor stage={stage} text={text} name={`Text of ${nameOf(item)}`} />
      ) : (
        <RichLines text={text} rev={rev} placeholder={t`Double-click to write`} />
      )}
    </div>
  );
}

/** The colours of notes and frames, beside what is chosen. */
export function Colours({ stage, items }: { stage: Stage; items: readonly Item[] }) {
  const coloured = items.filter(({ kind }) => kind === 'note' || kind === 'frame');
  if (coloured.length === 0) return null;
  return (
    <span className="colours" role="group" aria-label={t`Colour`}>
      {COLOURS.map((colour) => (
        <button
          key={colour}
          type="button"
          className={`colour note-${colour}`}
          aria-label={colour}
          title={colour}
          aria-pressed={coloured.every((one) => one.colour === colour)}
          onClick={() =>
            changeItems(
              stage.board,
              coloured.map(({ id }) => id),
              { colour },
            )
          }
        />
      ))}
    </span>
  );
}

/** A note is as high as its words need: who writes in it makes it grow. The part that is returned
 *  holds the words, drawn at their usual size. */
function useGrowth(
  stage: Stage,
  { id, h, rev, locked }: Item,
  writes: boolean,
): RefObject<HTMLDivElement | null> {
  const part = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const words = part.current?.querySelector('.rich-host') ?? null;
    if (words === null || !writes || locked) return;
    const lacks = words.scrollHeight - words.clientHeight;
    if (lacks > 0) changeItems(stage.board, [id], { h: Math.round(h + lacks) });
  }, [stage, id, h, rev, writes, locked]);
  return part;
}
