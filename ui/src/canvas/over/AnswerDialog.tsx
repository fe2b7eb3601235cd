/** What the agent of a todo waits for, and the answers; it closes with the last one. */

import { useEffect } from 'react';
import { Dialog } from '../../components/parts/Dialog';
import { useInbox } from '../../components/inbox/Inbox';
import { Item } from '../../components/inbox/InboxItems';
import { t } from '../../language/t';

interface AnswerDialogProps {
  readonly sandboxId: string;
  readonly onClose: () => void;
}

export function AnswerDialog({ sandboxId, onClose }: AnswerDialogProps) {
  const items = useInbox().filter((one) => one.sandbox_id === sandboxId);
  const none = items.length === 0;
  useEffect(() => {
    if (none) onClose();
  }, [none, onClose]);
  return (
    <Dialog title={t`It waits for you`} onClose={onClose} wide>
      <ul className="asks" aria-label={t`Waiting for you`}>
        {items.map((item) => (
          <li key={item.id} className="asking">
            <Item item={item} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
