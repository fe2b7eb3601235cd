/** What a reader of a diff looks at: a line on one of its sides, and how lines are shown. */

export type Side = 'old' | 'new';

export interface Place {
  readonly side: Side;
  readonly line: number;
}

/** How lines are shown. */
export interface Look {
  /** Whether both sides stand beside each other. */
  readonly split: boolean;
  readonly blanks: boolean;
}

/** What a person chose of it; `split` is null where the window decides. */
export interface LookChoice extends Omit<Look, 'split'> {
  readonly split: boolean | null;
}
