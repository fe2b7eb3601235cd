/** A modal dialog: keeps focus and keys inside, closes on Escape and a press beside it. */

import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog as Base } from '@base-ui/react/dialog';
import { useEffect, useId, useState, type ReactNode } from 'react';
import { t } from '../../language/t';
import { dialogs, notices } from '../../state/announce';
import { useStore } from '../../state/store';
import { Icon } from './icons';
import { NoticeLine } from './NoticeLine';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  return (
    <Modal onClose={onClose} className={wide ? 'dialog dialog-wide' : 'dialog'}>
      <Body title={title} onClose={onClose}>
        {children}
      </Body>
    </Modal>
  );
}

/** Whether a modal dialog lies over the page: it has the keys then, wherever the focus is. */
export function dialogIsOpen(): boolean {
  return document.querySelector('.dialog') !== null;
}

interface ModalProps {
  readonly className: string;
  /** Its name, where no title says it. */
  readonly label?: string;
  /** Whether it asks before something ends. */
  readonly asks?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What every modal dialog does. */
export function Modal({ className, label, asks = false, onClose, children }: ModalProps) {
  // Taken before anything inside has the focus.
  const [before] = useState(() => document.activeElement);
  const Root = asks ? AlertDialog.Root : Base.Root;
  return (
    <Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="dialog-veil" />
        <Base.Viewport
          className="dialog-place"
          onPointerDown={(event) => {
            // Base UI leaves a question open; for ours a press beside it is a Cancel.
            if (asks && event.target === event.currentTarget) onClose();
          }}
        >
          <Base.Popup
            ref={focusFirst}
            className={className}
            aria-label={label}
            initialFocus={false}
            finalFocus={() => focusAgain(before)}
          >
            {children}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Root>
  );
}

/**
 * Gives the focus back. Base UI takes the first tabbable part of what cannot be tabbed to: for the
 * page itself that is the link past the list, which would come into view.
 */
function focusAgain(before: Element | null): boolean | HTMLElement {
  if (!(before instanceof HTMLElement) || !before.isConnected || before === document.body) {
    return false;
  }
  if (before.tabIndex >= 0) return before;
  before.focus();
  return false;
}

/** What has the focus first, best first: what asks for it, a field, an action. Close is the last. */
const FIRST = ['[data-first-focus]', 'input, select, textarea', 'button, [href], [tabindex="0"]'];
const ENABLED = ':not(:disabled, [tabindex="-1"])';

/** Moves the focus inside at once: Base UI waits for a frame, and quick keys would be lost. */
function focusFirst(popup: HTMLElement | null): void {
  if (popup === null || popup.contains(document.activeElement)) return;
  const among = (one: string) =>
    [...popup.querySelectorAll<HTMLElement>(one)].find(
      (found) => found.matches(ENABLED) && found.closest('.dialog-head') === null,
    );
  const found = FIRST.map(among).find((one) => one !== undefined);
  (found ?? popup.querySelector('button') ?? popup).focus();
}

interface BodyProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function Body({ title, onClose, children }: BodyProps) {
  return (
    <div className="dialog-body">
      <header className="dialog-head">
        <Base.Title>{title}</Base.Title>
        <button type="button" className="button-icon" aria-label={t`Close`} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
      <Failures />
    </div>
  );
}

/** What failed while the dialog lies over the page, in its upper one. */
function Failures() {
  const id = useId();
  const upper = useStore(dialogs).at(-1) === id;
  const list = useStore(notices).filter(({ tone }) => tone === 'bad');
  useEffect(() => {
    dialogs.set((now) => [...now, id]);
    return () => dialogs.set((now) => now.filter((one) => one !== id));
  }, [id]);
  return (
    <ul className="dialog-failures" aria-live="polite">
      {upper && list.map((notice) => <NoticeLine key={notice.id} notice={notice} />)}
    </ul>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  readonly danger?: boolean;
  /** Whether all is said that it needs. */
  readonly ready?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Says what will happen and asks; the safe answer has the focus. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, danger = false, ready = true, onConfirm, onClose } = props;
  return (
    <Modal asks className="dialog" onClose={onClose}>
      <Body title={title} onClose={onClose}>
        <div className="dialog-text">{children}</div>
        <footer className="dialog-foot">
          <button type="button" className="button" data-first-focus onClick={onClose}>
            {t`Cancel`}
          </button>
          <button
            type="button"
            className={danger ? 'button button-danger' : 'button button-primary'}
            disabled={!ready}
            onClick={() => {
              onClose();
              onConfirm();
            }}
          >
            {action}
          </button>
        </footer>
      </Body>
    </Modal>
  );
}
