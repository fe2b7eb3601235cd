/**
 * The place of a call in a trace (W3C Trace Context, section 3.2): each call of the page begins one,
 * which the server continues where traces are on. Without them the header costs 70 bytes.
 */

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const SAMPLED = '01';

/** The header of a call. */
export function traceHeaders(): { readonly traceparent: string } {
  const bytes = crypto.getRandomValues(new Uint8Array(TRACE_BYTES + SPAN_BYTES));
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const trace = text.slice(0, TRACE_BYTES * 2);
  return { traceparent: `00-${trace}-${text.slice(TRACE_BYTES * 2)}-${SAMPLED}` };
}
