/** A line to give an agent its next prompt. */

import { useState } from 'react';
import { t } from '../../language/t';
import { notifyFailure } from '../../state/announce';
import { useDraft } from '../../state/drafts';

interface AskBarProps {
  /** Names the draft of this line. */
  readonly place: string;
  readonly agent: string;
  /** It works, is paused or has stopped: no prompt is taken now. */
  readonly locked: boolean;
  /** Sends the prompt; it fails where the prompt was not taken. */
  readonly onAsk: (prompt: string) => Promise<unknown>;
}

export function AskBar({ place, agent, locked, onAsk }: AskBarProps) {
  const [prompt, setPrompt] = useDraft(`ask:${place}`);
  const [busy, setBusy] = useState(false);

  async function send(): Promise<void> {
    if (prompt.trim() === '' || busy) return;
    setBusy(true);
    try {
      await onAsk(prompt);
      setPrompt('');
    } catch (reason) {
      notifyFailure(t`${agent} was not asked`)(reason);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form
      className="ask"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        rows={1}
        aria-label={t`Ask ${agent}`}
        placeholder={locked ? t`${agent} is busy` : t`Ask ${agent}`}
        value={prompt}
        onChange={(event) => setPrompt(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <button
        type="submit"
        className="button button-primary"
        disabled={locked || busy || prompt.trim() === ''}
      >
        {t`Ask`}
      </button>
    </form>
  );
}
