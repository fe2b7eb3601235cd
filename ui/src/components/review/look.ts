/** What a reader of a diff looks at: a line on one of its sides, and how lines are shown. */

export type Side = 'old' | 'new';

export interface Place {
  readonly side: Side;
  readonly line: number;
}

/** How lines are shown. */
export interface Look {
  readonly split: boolean;
  readonly blanks: boolean;
}
