/** What a refused or failed call says: an RFC 9457 problem document with a stable `code`. */
export class AtollError extends Error {
  override readonly name = 'AtollError';

  /** `status` 0: the server could not be reached. `code` is the word to switch on. */
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly field: string | null = null,
    readonly requestId: string | null = null,
    /** The header `Retry-After` of the answer. */
    readonly retryAfter: string | null = null,
  ) {
    super(message);
  }
}

const PROBLEM_CHARACTERS = 65_536;

/** The error of an answer that is no success; also where a proxy answered instead of Atoll. */
export async function errorOf(answer: Response): Promise<AtollError> {
  const named = answer.headers.get('X-Request-ID');
  const text = (await answer.text().catch(() => '')).slice(0, PROBLEM_CHARACTERS);
  const told = parsed(text);
  const word = (name: string) => (typeof told[name] === 'string' ? told[name] : null);
  return new AtollError(
    word('detail') ?? word('title') ?? `the server answered ${String(answer.status)}`,
    answer.status,
    word('code') ?? 'error',
    word('field'),
    word('request_id') ?? named,
    answer.headers.get('Retry-After'),
  );
}

function parsed(text: string): Record<string, unknown> {
  try {
    const told: unknown = JSON.parse(text);
    return typeof told === 'object' && told !== null ? (told as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
