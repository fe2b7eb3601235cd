/**
 * Server-sent events out of a byte stream, as the HTML standard (§9.2.6) parses them.
 *
 * Pure. Not `EventSource`: that hides the status of a refusal and needs every event's
 * name beforehand.
 */

export interface SseEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Feed it text as it comes; it returns the events that became complete. */
export class SseParser {
  #rest = '';
  #data: string[] = [];
  #event = '';
  #id: string | null = null;

  feed(text: string): SseEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const events: SseEvent[] = [];
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else if (this.#data.length > 0) events.push(this.#take());
      else this.#event = '';
    }
    return events;
  }

  #take(): SseEvent {
    const event = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') };
    this.#data = [];
    this.#event = '';
    return event;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
  }
}
