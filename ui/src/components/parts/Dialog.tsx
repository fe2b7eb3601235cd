/** A modal dialog: the browser's own, which keeps focus inside and closes on Escape. */

import { useEffect, useId, useRef, type ReactNode } from 'react';
import { t } from '../../language/t';
import { Icon } from './icons';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('[data-first-focus]')?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <button type="button" className="button-icon" aria-label={t`Close`} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  readonly danger?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Says what will happen and asks; the safe answer has the focus. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, danger = false, onConfirm, onClose } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-text">{children}</div>
      <footer className="dialog-foot">
        <button type="button" className="button" data-first-focus onClick={onClose}>
          {t`Cancel`}
        </button>
        <button
          type="button"
          className={danger ? 'button button-danger' : 'button button-primary'}
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
