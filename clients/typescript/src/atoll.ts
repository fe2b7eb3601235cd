/** The client: a method for each HTTP method, pages as an iterator, and the stream of events. */
import { AtollError, errorOf } from './errors.js';
import type { components } from './made/schema.js';
import { SseParser } from './made/sse.js';
import type { Answer, Input, Method, PathsWith } from './operations.js';
import { pauseAfter, USUAL, type Retries } from './retries.js';

export interface AtollOptions {
  /** The address of the server, such as `https://atoll.example.com`. */
  readonly url: string;
  readonly token: string;
  readonly retries?: Retries;
  /** Takes the place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export type Event = components['schemas']['EventView'];
export type Gap = components['schemas']['Gap'];

interface Request {
  readonly path?: Readonly<Record<string, string | number>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The optional argument of an operation that needs nothing. */
type Arguments<T> = Record<string, never> extends T ? [input?: T] : [input: T];

const SILENCE_MS = 20_000;
const PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5_000;

export class Atoll {
  readonly #url: string;
  readonly #token: string;
  readonly #retries: Retries;
  readonly #fetch: typeof fetch;

  constructor(options: AtollOptions) {
    this.#url = options.url.replace(/\/+$/, '');
    this.#token = options.token;
    this.#retries = options.retries ?? USUAL;
    this.#fetch = options.fetch ?? ((...given) => fetch(...given));
  }

  get<P extends PathsWith<'get'>>(
    path: P,
    ...[input]: Arguments<Input<'get', P>>
  ): Promise<Answer<'get', P>> {
    return this.#json('get', path, input) as Promise<Answer<'get', P>>;
  }

  post<P extends PathsWith<'post'>>(
    path: P,
    ...[input]: Arguments<Input<'post', P>>
  ): Promise<Answer<'post', P>> {
    return this.#json('post', path, input) as Promise<Answer<'post', P>>;
  }

  put<P extends PathsWith<'put'>>(
    path: P,
    ...[input]: Arguments<Input<'put', P>>
  ): Promise<Answer<'put', P>> {
    return this.#json('put', path, input) as Promise<Answer<'put', P>>;
  }

  patch<P extends PathsWith<'patch'>>(
    path: P,
    ...[input]: Arguments<Input<'patch', P>>
  ): Promise<Answer<'patch', P>> {
    return this.#json('patch', path, input) as Promise<Answer<'patch', P>>;
  }

  delete<P extends PathsWith<'delete'>>(
    path: P,
    ...[input]: Arguments<Input<'delete', P>>
  ): Promise<Answer<'delete', P>> {
    return this.#json('delete', path, input) as Promise<Answer<'delete', P>>;
  }

  /** Opens an answer that is no JSON (files, archives, exports) as it comes. */
  open<P extends PathsWith<'get'>>(
    path: P,
    ...[input]: Arguments<Input<'get', P>>
  ): Promise<Response> {
    return this.#answered('get', path, (input ?? {}) as Request);
  }

  /** Yields the pages of a list that has `cursor` and `next`. */
  async *pages<P extends PathsWith<'get'>>(
    path: P,
    ...[input]: Arguments<Input<'get', P>>
  ): AsyncGenerator<Answer<'get', P>, void> {
    let given = (input ?? {}) as Request;
    for (;;) {
      const page = (await this.#json('get', path, given)) as Answer<'get', P>;
      yield page;
      const next = (page as { next?: string | null } | null)?.next ?? null;
      if (next === null) return;
      given = { ...given, query: { ...given.query, cursor: next } };
    }
  }

  /**
   * Yields events as they happen, after a position where one is given, over as many connections as
   * it takes: none is lost or repeated. A gap names events that are no longer kept.
   */
  async *events(
    options: { after?: number; stream?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<Event | { gap: Gap }, void> {
    let place = options.after === undefined ? null : String(options.after);
    let pause = PAUSE_MS;
    while (!(options.signal?.aborted ?? false)) {
      try {
        for await (const told of this.#stream(place, options)) {
          pause = PAUSE_MS;
          place = told.id ?? place;
          const data: unknown = JSON.parse(told.data);
          yield told.event === 'gap' ? { gap: data as Gap } : (data as Event);
        }
      } catch (error) {
        if (options.signal?.aborted ?? false) return;
        if (error instanceof AtollError && error.status !== 0 && error.status !== 503) throw error;
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
      await later(pause);
    }
  }

  async *#stream(place: string | null, options: { stream?: string; signal?: AbortSignal }) {
    const silence = new AbortController();
    const given = options.signal === undefined ? [] : [options.signal];
    const headers = { Accept: 'text/event-stream', ...(place && { 'Last-Event-ID': place }) };
    const answer = await this.#answered('get', '/v1/events/stream', {
      query: { stream: options.stream },
      headers,
      signal: AbortSignal.any([silence.signal, ...given]),
    });
    const lines = new SseParser();
    const text = new TextDecoder();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = () => {
      clearTimeout(timer);
      // The server sends a heartbeat much oftener.
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    try {
      listen();
      for await (const piece of answer.body ?? []) {
        listen();
        yield* lines.feed(text.decode(piece, { stream: true }));
      }
    } catch (error) {
      throw unreachable(error);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  async #json(method: Method, path: string, input: unknown): Promise<unknown> {
    const answer = await this.#answered(method, path, (input ?? {}) as Request);
    const text = await answer.text();
    return text === '' ? null : (JSON.parse(text) as unknown);
  }

  async #answered(method: Method, path: string, request: Request): Promise<Response> {
    const name = method.toUpperCase();
    const keyed = request.idempotencyKey !== undefined;
    const id = crypto.randomUUID();
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#sent(name, path, request, id);
      if (answer instanceof Response && answer.ok) return answer;
      const error = answer instanceof Response ? await errorOf(answer) : answer;
      const pause = pauseAfter(this.#retries, { method: name, keyed }, error, attempt);
      if (pause === null || request.signal?.aborted || request.body instanceof ReadableStream) {
        throw error;
      }
      await later(pause * 1000);
    }
  }

  async #sent(
    method: string,
    path: string,
    request: Request,
    id: string,
  ): Promise<Response | AtollError> {
    const address = this.#url + filled(path, request);
    const plain = isPlain(request.body);
    const headers = {
      Accept: 'application/json',
      Authorization: `Bearer ${this.#token}`,
      'X-Request-ID': id,
      ...(plain && { 'Content-Type': 'application/json' }),
      ...(request.idempotencyKey !== undefined && { 'Idempotency-Key': request.idempotencyKey }),
      ...request.headers,
    };
    const init: RequestInit & { duplex?: 'half' } = {
      method,
      headers,
      redirect: 'error',
      ...(request.signal && { signal: request.signal }),
    };
    if (request.body !== undefined) {
      init.body = plain ? JSON.stringify(request.body) : (request.body as BodyInit);
      if (request.body instanceof ReadableStream) init.duplex = 'half';
    }
    try {
      return await this.#fetch(address, init);
    } catch (error) {
      return unreachable(error, id);
    }
  }
}

function filled(path: string, request: Request): string {
  const named = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(request.path?.[name] ?? '');
    // An empty name, or one of dots alone, would be another path.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`the parameter ${name} of ${path} is no name`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    const all: unknown[] = Array.isArray(value) ? value : [value];
    for (const one of all) if (one !== undefined && one !== null) query.append(name, String(one));
  }
  return query.size > 0 ? `${named}?${query.toString()}` : named;
}

function isPlain(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const kind: unknown = Object.getPrototypeOf(body);
  return Array.isArray(body) || kind === Object.prototype || kind === null;
}

function unreachable(error: unknown, id: string | null = null): AtollError {
  const why = error instanceof Error ? error.message : String(error);
  const message = `the server cannot be reached (${why}): is its address right, and does it run?`;
  return new AtollError(message, 0, 'unreachable', null, id);
}

function later(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
