/** What the page in a preview reports, and how an agent is told of it. */

import { useState } from 'react';
import { errorsPrompt, pickedPrompt } from '../../state/previews/reports';
import { AskDialog } from './AskDialog';
import { ErrorsButton } from './ErrorsButton';
import { PickButton } from './PickButton';
import type { FrameReports } from './useReports';

interface PageToolsProps {
  readonly sandboxId: string;
  readonly port: number;
  readonly told: FrameReports;
  /** Whether its person may ask an agent. */
  readonly works: boolean;
}

export function PageTools({ sandboxId, port, told, works }: PageToolsProps) {
  const { reports, clear, drop } = told;
  const [asked, setAsked] = useState<string | null>(null);
  const words = reports.picked === null ? asked : pickedPrompt(reports.picked, port);
  const close = (): void => {
    setAsked(null);
    drop();
  };
  return (
    <>
      <ErrorsButton
        reports={reports}
        onClear={clear}
        onSend={works ? () => setAsked(errorsPrompt(reports.errors, port)) : null}
      />
      {works && <PickButton told={told} />}
      {words !== null && (
        <AskDialog
          {...{ sandboxId, words }}
          picture={reports.picked === null ? null : reports.picture}
          onClose={close}
        />
      )}
    </>
  );
}
