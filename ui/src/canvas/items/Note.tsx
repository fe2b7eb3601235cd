/** Rich text on a colour, as a post-it, or on nothing. */

import { t } from '../../language/t';
import { changeItems } from '../document/acts';
import { COLOURS, nameOf, type Item } from '../document/items';
import type { Stage } from '../view/stage';
import { useGrowth } from './growth';
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
