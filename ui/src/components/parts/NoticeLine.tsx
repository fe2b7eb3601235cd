/** One message with what can be done about it, over the page or inside a dialog. */

import { t } from '../../language/t';
import { dismiss, type Notice } from '../../state/announce';
import { Icon } from './icons';

export function NoticeLine({ notice }: { readonly notice: Notice }) {
  return (
    <li className={`notice notice-${notice.tone}`}>
      <span>{notice.text}</span>
      {notice.act !== undefined && (
        <button
          type="button"
          className="button button-small"
          onClick={() => {
            dismiss(notice.id);
            notice.act?.run();
          }}
        >
          {notice.act.words}
        </button>
      )}
      <button
        type="button"
        className="button-icon"
        aria-label={t`Dismiss`}
        onClick={() => dismiss(notice.id)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
