/** What stands where there is nothing to show: it loads, it is empty, it failed, or it is cut off. */

import type { ReactNode } from 'react';
import { t } from '../../language/t';
import { Icon, type IconName } from './icons';

interface LoadingProps {
  /** What is on its way, for screen readers. */
  readonly what?: string;
  readonly lines?: number;
}

/** Bars in the shape of what comes; they appear only when that takes longer than a blink. */
export function Loading({ what = 'this', lines = 3 }: LoadingProps) {
  return (
    <div className="blank blank-loading" role="status">
      <span className="spoken">{t`Loading ${what}…`}</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="blank-bar" aria-hidden="true" />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly icon?: IconName;
  /** What there is none of, and how the first one comes. */
  readonly children: ReactNode;
  readonly act?: ReactNode;
}

/** Nothing is here, and that is no fault. */
export function Empty({ icon, children, act }: EmptyProps) {
  return (
    <div className="blank empty">
      {icon !== undefined && <Icon name={icon} />}
      <p>{children}</p>
      {act}
    </div>
  );
}

interface TroubleProps {
  /** What failed, as a sentence. */
  readonly title: string;
  /** Why, and what to do. */
  readonly children?: ReactNode;
  readonly act?: ReactNode;
}

/** Something failed: what, why, and what can be done about it. */
export function Trouble({ title, children, act }: TroubleProps) {
  return (
    <div className="blank blank-trouble" role="alert">
      <p className="blank-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {act}
    </div>
  );
}

/** The connection is gone, and what is shown may be old. */
export function CutOff({
  children,
  act,
}: {
  readonly children: ReactNode;
  readonly act?: ReactNode;
}) {
  return (
    <div className="blank blank-cut" role="status">
      <span className="link-dot" aria-hidden="true" />
      <p>{children}</p>
      {act}
    </div>
  );
}
