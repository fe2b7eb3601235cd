/** Over a terminal's upper edge: a program in it asks to put a text into the clipboard. */

import { useCallback, useState } from 'react';
import { t, worded } from '../../language/t';
import { announce, notify, notifyFailure } from '../../state/announce';
import { copyRules, copyText, decideCopies } from '../../state/clipboard';
import { copyWords, preview, type CopyWish } from '../../terminal/screen/clipboard';

export interface Copying {
  /** The text a program asks to copy; null while none does. */
  readonly asked: string | null;
  readonly onWish: (wish: CopyWish) => void;
  readonly answer: (answer: CopyAnswer) => void;
}

export type CopyAnswer = 'once' | 'always' | 'no' | 'never';

const REFUSED = worded(() => t`The program could not copy`);

/** The requests of one terminal's programs, decided by its rule or by the person. */
export function useCopying(terminalId: string): Copying {
  const [asked, setAsked] = useState<string | null>(null);

  // What is asked stays as it was read, whatever the program sends before the answer.
  const ask = (text: string): void => setAsked((now) => now ?? text);
  const copy = useCallback((text: string, onFailed: (reason: unknown) => void) => {
    copyText(text).then(() => announce(t`The program copied ${copyWords(text)}.`), onFailed);
  }, []);
  const onWish = useCallback(
    ({ text }: CopyWish) => {
      const rule = copyRules.get()[terminalId];
      if (rule === 'never') return;
      if (text === null) notify(t`A program wanted to copy more than 64 Ki characters: refused.`);
      // A browser that wants a click for it gets one.
      else if (rule === 'always') copy(text, () => ask(text));
      else ask(text);
    },
    [terminalId, copy],
  );
  const answer = useCallback(
    (given: CopyAnswer) => {
      setAsked(null);
      if (given === 'always' || given === 'never') decideCopies(terminalId, given);
      if (asked !== null && (given === 'once' || given === 'always'))
        copy(asked, notifyFailure(REFUSED()));
    },
    [terminalId, asked, copy],
  );
  return { asked, onWish, answer };
}

interface CopyNoticeProps {
  readonly copying: Copying;
  /** The keyboard goes back to the terminal. */
  readonly onDone: () => void;
}

export function CopyNotice({ copying: { asked, answer }, onDone }: CopyNoticeProps) {
  if (asked === null) return null;
  const choice = (given: CopyAnswer, words: string, primary = false) => (
    <button
      type="button"
      className={primary ? 'button button-small button-primary' : 'button button-small'}
      onClick={() => {
        answer(given);
        onDone();
      }}
    >
      {words}
    </button>
  );
  return (
    <div className="copy-notice" role="alert">
      <p>{t`This program wants to copy ${copyWords(asked)}: ${(<code>{preview(asked)}</code>)}`}</p>
      <div className="copy-acts">
        {choice('no', t`No`)}
        {choice('never', t`Never here`)}
        {choice('always', t`Always here`)}
        {choice('once', t`Allow once`, true)}
      </div>
    </div>
  );
}
