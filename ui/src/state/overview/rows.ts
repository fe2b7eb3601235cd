/** Which rows of a long list are drawn, and which of its pages are fetched. Pure. */

export const PAGE = 100;
/** Rows drawn beyond what is in view, so that a flick shows no hole. */
export const SPARE = 8;

export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** The rows to draw for a view of `height` that is scrolled by `top`; `end` is not among them. */
export function drawn(top: number, height: number, row: number, total: number): Span {
  const first = Math.floor(Math.max(0, top) / row) - SPARE;
  const last = Math.ceil((Math.max(0, top) + height) / row) + SPARE;
  const end = Math.min(total, Math.max(0, last));
  return { begin: Math.max(0, Math.min(first, end)), end };
}

/** The first rows of the pages that hold a span. */
export function pagesOf({ begin, end }: Span): readonly number[] {
  const pages: number[] = [];
  for (let at = begin - (begin % PAGE); at < Math.max(end, 1); at += PAGE) pages.push(at);
  return pages;
}
