/**
 * Keeps a terminal from answering queries it must not answer.
 *
 * A program may ask its terminal for its kind, the cursor's place or a colour, and the
 * answer is typed into the program. From many viewers that would be junk in somebody's
 * shell: only the driver's live screen answers. (Replays hold no questions: the runtime
 * takes them out.)
 */

import type { IDisposable, Terminal } from '@xterm/xterm';

/** `mayAnswer` is asked when a query is parsed; false swallows it. */
export function guardAnswers(term: Terminal, mayAnswer: () => boolean): IDisposable[] {
  const { parser } = term;
  const swallow = (): boolean => !mayAnswer();
  const colour = (data: string): boolean => data.includes('?') && swallow();
  return [
    // Device attributes, primary to tertiary, and the terminal's version.
    parser.registerCsiHandler({ final: 'c' }, swallow),
    parser.registerCsiHandler({ prefix: '>', final: 'c' }, swallow),
    parser.registerCsiHandler({ prefix: '=', final: 'c' }, swallow),
    parser.registerCsiHandler({ prefix: '>', final: 'q' }, swallow),
    // The flags of the kitty keyboard protocol.
    parser.registerCsiHandler({ prefix: '?', final: 'u' }, swallow),
    // Status and cursor position; modes; window reports.
    parser.registerCsiHandler({ final: 'n' }, swallow),
    parser.registerCsiHandler({ prefix: '?', final: 'n' }, swallow),
    parser.registerCsiHandler({ intermediates: '$', final: 'p' }, swallow),
    parser.registerCsiHandler({ prefix: '?', intermediates: '$', final: 'p' }, swallow),
    parser.registerCsiHandler({ final: 't' }, swallow),
    parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow),
    // Colours; setting one (no `?`) goes on to xterm.
    ...[4, 10, 11, 12].map((code) => parser.registerOscHandler(code, colour)),
  ];
}
