/** What the page in a preview reports, and how an agent is told of it. */

import { useState } from 'react';
import { errorsPrompt } from '../../state/previews/reports';
import { AskDialog } from './AskDialog';
import { ErrorsButton } from './ErrorsButton';
import type { FrameReports } from './useReports';

interface PageToolsProps {
  readonly sandboxId: string;
  readonly port: number;
  readonly told: FrameReports;
  /** Whether its person may ask an agent. */
  readonly works: boolean;
}

export function PageTools({ sandboxId, port, told: { reports, clear }, works }: PageToolsProps) {
  const [words, setWords] = useState<string | null>(null);
  return (
    <>
      <ErrorsButton
        reports={reports}
        onClear={clear}
        onSend={works ? () => setWords(errorsPrompt(reports.errors, port)) : null}
      />
      {words !== null && <AskDialog {...{ sandboxId, words }} onClose={() => setWords(null)} />}
    </>
  );
}
