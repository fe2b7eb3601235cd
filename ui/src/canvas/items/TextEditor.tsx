/** The editor of an item's rich text with its few buttons. */

import { useEffect, useRef, useState } from 'react';
import { t, worded } from '../../language/t';
import { notify } from '../../state/announce';
import type * as Y from 'yjs';
import { typedAddress } from '../document/links';
import type { LineStyle, Mark } from '../document/rich';
import type { Stage } from '../view/stage';
import { RichEditor, type EditorState } from './editor';

interface TextEditorProps {
  readonly stage: Stage;
  readonly text: Y.Text;
  readonly name: string;
}

const NOTHING: EditorState = { marks: new Set(), style: 'plain', chosen: false };

const MARK_BUTTONS = worded<
  readonly {
    readonly mark: Mark;
    readonly words: string;
    readonly face: string;
  }[]
>(() => [
  { mark: 'bold', words: t`Bold (Ctrl B)`, face: 'B' },
  { mark: 'italic', words: t`Italic (Ctrl I)`, face: 'I' },
  { mark: 'code', words: t`Code (Ctrl E)`, face: '<>' },
]);
const STYLE_BUTTONS = worded<
  readonly {
    readonly style: LineStyle;
    readonly words: string;
    readonly face: string;
  }[]
>(() => [
  { style: 'heading', words: t`Heading (# )`, face: 'H' },
  { style: 'bullet', words: t`List (- )`, face: '•' },
  { style: 'ordered', words: t`Numbered list (1. )`, face: '1.' },
]);

export function TextEditor({ stage, text, name }: TextEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<RichEditor | null>(null);
  const [state, setState] = useState<EditorState>(NOTHING);

  useEffect(() => {
    if (host.current === null) return;
    const { board } = stage;
    const made = new RichEditor({
      host: host.current,
      text,
      go: (work) => board.go(work),
      undo: () => void board.undo(),
      redo: () => void board.redo(),
      onState: setState,
      onLeave: () => stage.leave(),
    });
    editor.current = made;
    // What is typed is undone apart from what was done before.
    board.undos.stopCapturing();
    made.focus();
    return () => {
      board.undos.stopCapturing();
      made.dispose();
      editor.current = null;
    };
  }, [stage, text]);

  function onLink(): void {
    const words = editor.current?.words ?? '';
    const address = typedAddress(words);
    if (address === null) notify(t`Choose an address to make it a link, or paste one over words.`);
    else editor.current?.link(address);
  }

  return (
    <>
      <div className="rich-tools" role="toolbar" aria-label={t`Text`}>
        {MARK_BUTTONS().map(({ mark, words, face }) => (
          <FaceButton
            key={mark}
            {...{ words, face }}
            name={mark}
            on={state.marks.has(mark)}
            onPress={() => editor.current?.toggle(mark)}
          />
        ))}
        {STYLE_BUTTONS().map(({ style, words, face }) => (
          <FaceButton
            key={style}
            {...{ words, face }}
            name={style}
            on={state.style === style}
            onPress={() => editor.current?.style(style)}
          />
        ))}
        {state.chosen && (
          <FaceButton words={t`Make it a link`} face="↗" name="link" on={false} onPress={onLink} />
        )}
      </div>
      <div
        ref={host}
        className="rich-text rich-host"
        role="textbox"
        aria-multiline="true"
        aria-label={name}
        contentEditable
        suppressContentEditableWarning
        spellCheck={false}
      />
    </>
  );
}

interface FaceButtonProps {
  readonly name: string;
  readonly words: string;
  readonly face: string;
  readonly on: boolean;
  readonly onPress: () => void;
}

function FaceButton({ name, words, face, on, onPress }: FaceButtonProps) {
  return (
    <button
      type="button"
      className={`rich-tool rich-tool-${name}`}
      aria-label={words}
      title={words}
      aria-pressed={on}
      // The letters stay chosen.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPress}
    >
      {face}
    </button>
  );
}
