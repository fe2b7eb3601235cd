/**
 * One terminal on the page: xterm with its addons, attached, sized, and searchable.
 *
 * Free of any framework.
 */

import { SearchAddon } from '@xterm/addon-search';
import { SerializeAddon } from '@xterm/addon-serialize';
import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal } from '@xterm/xterm';

import { api } from '../../api/client';
import { keyProtocols } from '../../api/page-key';
import { t, worded } from '../../language/t';
import { BROWSER_TIMERS } from '../../pulse';
import { expose, unexpose } from '../../testing/hooks';
import { guardAnswers } from '../cards/answers';
import { drivesElsewhere } from '../attach/turns';
import { Attachment, type AttachSocket } from '../attach/attach';
import type { Pointer } from '../attach/pointers';
import type { AttachStatus } from '../attach/status';
import { CopyWishes, type CopyWish } from './clipboard';
import { colours } from './colours';
import { TERMINAL_FONT } from './fonts';
import { follow, followable } from './links';
import { interruptOf, lockOf } from '../attach/party';
import { cleanPaste, listenForBrought, lossWords } from './paste';
import { pageKeyOf, type PageKey } from './page-keys';
import { listenForWake } from '../attach/wake';
import { drawPicture } from './picture';
import { PointerLayer } from './pointers';
import { ScreenSize, type Cells } from '../size/size';
import { GpuRenderer } from './webgl';
import { textOf, type Zoom } from '../size/zoom';

export interface TerminalViewOptions {
  readonly host: HTMLElement;
  readonly sandboxId: string;
  readonly terminalId: string;
  readonly clientId: string;
  readonly shade: 'light' | 'dark';
  /** True when the page requests a driver's size by itself (not on a phone). */
  readonly autoFit: boolean;
  /** True for a picture of it: nothing can be typed, and the GPU is left to others. */
  readonly watches: boolean;
  /** Pixels of its letters where they need not shrink. */
  readonly textPx: number;
  /** See `ScreenSize`. */
  readonly wish?: Cells | null;
  readonly onStatus: (status: AttachStatus) => void;
  /** Keys were pressed that went nowhere; `code` is the server's reason, null: disconnected. */
  readonly onRefused: (code: string | null, message: string) => void;
  readonly onExpired: (name: string, mine: boolean, reason: string) => void;
  /** Something that was typed or pasted is lost. */
  readonly onLost: (message: string) => void;
  /** A key that is the page's was pressed; never `copy`. */
  readonly onPageKey: (key: PageKey) => void;
  /** Files were dropped on the terminal or pasted. */
  readonly onFiles: (files: readonly File[]) => void;
  /** A program asks to put a text into the clipboard; it happens only if the page does it. */
  readonly onCopy: (wish: CopyWish) => void;
  readonly onMatches: (index: number, count: number) => void;
  /** The link under the pointer, or null. */
  readonly onHover: (href: string | null) => void;
}

const SCROLLBACK_LINES = 10_000;
const INPUT_FULL = 'input_full';
const CUT_OFF = worded(() => t`Not connected: nothing was typed.`);
const LOCKS = worded(
  () =>
    ({
      agent_running: t`The agent is running: nothing was typed.`,
      agent_paused: t`The agent is paused: nothing was typed.`,
      viewer: t`You may watch here, not type.`,
    }) as const,
);
const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock'];
/** xterm refuses smaller sizes itself: columns, rows. */
const MIN = [2, 1] as const;

/** What the letters of programs have at least: more where the person asked for it. */
function leastContrast(): number {
  return document.documentElement.dataset['contrast'] === 'more' ? 7 : 4.5;
}

export class TerminalView {
  readonly #options: TerminalViewOptions;
  readonly #term: Terminal;
  readonly #search = new SearchAddon();
  readonly #serialize = new SerializeAddon();
  readonly #gpu: GpuRenderer;
  readonly #size: ScreenSize;
  readonly #attachment: Attachment;
  readonly #cleanups: (() => void)[] = [];
  readonly #pointers: PointerLayer;
  #pointed: readonly Pointer[] = [];
  #points = false;
  #shade: 'light' | 'dark';

  constructor(options: TerminalViewOptions) {
    this.#options = options;
    this.#shade = options.shade;
    this.#term = new Terminal({
      allowProposedApi: true,
      fontFamily: TERMINAL_FONT,
      fontSize: options.textPx,
      disableStdin: options.watches,
      lineHeight: 1.2,
      macOptionIsMeta: true,
      minimumContrastRatio: leastContrast(),
      scrollback: SCROLLBACK_LINES,
      theme: colours[options.shade],
      vtExtensions: { kittyKeyboard: true },
      linkHandler: {
        activate: (_, text) => follow(text),
        hover: (_, text) => options.onHover(followable(text)),
        leave: () => options.onHover(null),
        allowNonHttpProtocols: false,
      },
    });
    this.#gpu = new GpuRenderer(this.#term);
    this.#size = new ScreenSize(this.#term, {
      ...options,
      status: () => this.#attachment.status,
      onFit: (cols, rows) => this.#attachment.resize(cols, rows),
    });
    this.#loadAddons();
    this.#term.open(options.host);
    const tap = expose(options.terminalId, this.#term);
    this.#attachment = this.#attach(tap?.feed.bind(tap));
    this.#pointers = new PointerLayer(this.#term, options.host, (place) =>
      this.#attachment.point(place),
    );
    this.#listen();
    this.#attachment.open();
  }

  get status(): AttachStatus {
    return this.#attachment.status;
  }

  /** In view or not: the GPU and the size follow. */
  show(visible: boolean): void {
    this.#size.show(visible);
    if (!visible) {
      this.#gpu.release();
      return;
    }
    // A phone shows one small terminal: the DOM renderer is enough, and kinder to it.
    if (this.#options.autoFit && !this.#options.watches)
      void this.#gpu.acquire().then(() => this.#size.layoutSoon());
  }

  get zoom(): Zoom {
    return this.#size.zoom;
  }

  focus(): void {
    this.#term.focus();
  }

  setShade(shade: 'light' | 'dark'): void {
    this.#shade = shade;
    this.#term.options.theme = colours[shade];
    this.#term.options.minimumContrastRatio = leastContrast();
  }

  /** Sets the pixels of its letters where they need not shrink. */
  setText(px: number): void {
    this.#size.setText(px);
  }

  /** Sets the size that a driver requests: a canvas gives each pane its own. */
  setWish(wish: Cells): void {
    this.#size.setWish(wish);
  }

  /** What is on the screen now, drawn once; null where nothing was printed yet. */
  picture(): HTMLCanvasElement | null {
    return this.#attachment.status.cols === 0
      ? null
      : drawPicture(this.#term, colours[this.#shade]);
  }

  /** Whether this person points for others and sees where they point. */
  setPointers(on: boolean): void {
    this.#points = on;
    this.#showPointers();
  }

  /** Shows a screen of another size than this window's in another way. */
  setZoom(zoom: Zoom): void {
    this.#size.setZoom(zoom);
  }

  /** Makes the terminal as large as this screen, as its driver, once. */
  fitToScreen(): void {
    this.#size.fitOnce();
  }

  requestControl(): void {
    this.#attachment.requestControl();
  }

  grantControl(to?: string): void {
    this.#attachment.grantControl(to);
  }

  say(text: string): void {
    this.#attachment.say(text);
  }

  revokeControl(): void {
    this.#attachment.revokeControl();
  }

  /** Takes control at once: as the owner, or from another tab of one's own. */
  takeControl(): void {
    if (this.#attachment.status.me?.role === 'owner') this.#attachment.revokeControl();
    else this.#attachment.requestControl();
  }

  takeBack(): void {
    this.#attachment.takeBack();
  }

  revoke(): void {
    this.#attachment.revoke();
  }

  retryNow(): void {
    this.#attachment.wake(true);
  }

  /** Types for the person: keys of the touch bar, composed lines. False when it may not. */
  type(data: string): boolean {
    return this.#mayType(data) && this.#send(data);
  }

  /** Whether typing would go somewhere; says why when not. */
  ready(): boolean {
    if (!this.#mayType()) return false;
    const { carries } = this.#attachment;
    if (!carries) this.#options.onRefused(null, CUT_OFF());
    return carries;
  }

  paste(text: string): void {
    if (this.#mayType()) this.#term.paste(cleanPaste(text));
  }

  /** Says why when typing is refused here already. */
  #mayType(keys: string | null = null): boolean {
    const lock = this.#lock(keys);
    if (lock !== null) this.#options.onRefused(lock, LOCKS()[lock]);
    return lock === null;
  }

  #lock(keys: string | null): keyof ReturnType<typeof LOCKS> | null {
    const { agent, me } = this.#attachment.status;
    return me?.role === 'viewer' ? 'viewer' : lockOf(agent, me?.role === 'owner', keys);
  }

  #send(data: string | Uint8Array): boolean {
    // Another window of the same person drives: typing here moves control over, silently.
    if (drivesElsewhere(this.#attachment.status)) this.#attachment.requestControl();
    const sent = this.#attachment.send(data);
    if (!sent) this.#options.onRefused(null, CUT_OFF());
    return sent;
  }

  /** Whether arrow keys must be sent in application form (DECCKM). */
  get applicationKeys(): boolean {
    return this.#term.modes.applicationCursorKeysMode;
  }

  get selection(): string {
    return this.#term.getSelection();
  }

  async copySelection(): Promise<boolean> {
    const text = this.#term.getSelection();
    if (text === '') return false;
    await navigator.clipboard.writeText(text);
    return true;
  }

  find(text: string, direction: 'next' | 'previous', growing: boolean): void {
    const style = {
      matchBackground: '#8a6d1f',
      activeMatchBackground: '#d9a520',
      matchOverviewRuler: '#d9a520',
      activeMatchColorOverviewRuler: '#d9a520',
    };
    if (text === '') this.#search.clearDecorations();
    else if (direction === 'previous') this.#search.findPrevious(text, { decorations: style });
    else this.#search.findNext(text, { decorations: style, incremental: growing });
  }

  endSearch(): void {
    this.#search.clearDecorations();
    this.#term.clearSelection();
  }

  /** Everything on the screen and above it, as plain text. */
  text(): string {
    return textOf(this.#term.buffer.active);
  }

  /** Screen and scrollback with their colours, as the bytes that would draw them. */
  serialized(): string {
    return this.#serialize.serialize();
  }

  dispose(): void {
    this.#pointers.dispose();
    this.#attachment.dispose();
    this.#size.dispose();
    for (const cleanup of this.#cleanups) cleanup();
    this.#gpu.release();
    unexpose(this.#options.terminalId, this.#term);
    this.#term.dispose();
  }

  #showPointers(): void {
    this.#pointers.update(this.#pointed, this.#points && !this.#options.watches, this.status);
  }

  #loadAddons(): void {
    const { onHover } = this.#options;
    this.#term.loadAddon(this.#search);
    this.#term.loadAddon(this.#serialize);
    this.#term.loadAddon(new UnicodeGraphemesAddon());
    this.#term.loadAddon(
      new WebLinksAddon((_, text) => follow(text), {
        hover: (_, text) => onHover(followable(text)),
        leave: () => onHover(null),
      }),
    );
  }

  #attach(tap: ((bytes: Uint8Array, offset: number) => void) | undefined): Attachment {
    const { sandboxId, terminalId, clientId, onStatus } = this.#options;
    const attachment = new Attachment({
      clientId,
      tap,
      screen: {
        write: (bytes, done) => this.#term.write(bytes, done),
        resize: (cols, rows) => {
          this.#term.resize(Math.max(MIN[0], cols), Math.max(MIN[1], rows));
          this.#size.layoutSoon();
        },
      },
      // A WebSocket's handlers are typed wider than the part of it that is used.
      connect: (query) =>
        new WebSocket(
          api.attachAddress(sandboxId, terminalId, query),
          keyProtocols(),
        ) as unknown as AttachSocket,
      size: () => (this.#options.autoFit ? this.#size.room() : null),
      onRefused: (code, message) => {
        if (code === INPUT_FULL) this.#options.onLost(message);
        else this.#options.onRefused(code, message);
      },
      onDropped: (bytes, loss) => this.#options.onLost(lossWords(bytes, loss)),
      onExpired: this.#options.onExpired,
      onPointers: (pointers) => {
        this.#pointed = pointers;
        this.#showPointers();
      },
      onStatus: (status) => {
        this.#size.layoutSoon();
        this.#showPointers();
        onStatus(status);
      },
      timers: BROWSER_TIMERS,
      random: () => Math.random(),
    });
    const guards = guardAnswers(this.#term, () => attachment.mayAnswer());
    const wishes = new CopyWishes((wish) => this.#options.onCopy(wish));
    const copies = this.#term.parser.registerOscHandler(52, (body) => {
      if (!this.#options.watches && attachment.mayCopy()) wishes.take(body);
      return true;
    });
    this.#cleanups.push(
      () => [...guards, copies].forEach((guard) => guard.dispose()),
      () => wishes.dispose(),
    );
    return attachment;
  }

  #listen(): void {
    const { host, onMatches } = this.#options;
    // Not by the lock: answers to a program's questions come this way, too.
    this.#term.onData((data) => this.#send(data));
    this.#term.onBinary((data) => this.#send(Uint8Array.from(data, (c) => c.charCodeAt(0))));
    this.#term.attachCustomKeyEventHandler((event) => this.#onKey(event));
    this.#search.onDidChangeResults(({ resultIndex, resultCount }) =>
      onMatches(resultIndex, resultCount),
    );
    const stopBringing = listenForBrought(host, {
      onFiles: this.#options.onFiles,
      onText: (text) => this.paste(text),
    });
    const observer = new ResizeObserver(() => this.#size.layoutSoon());
    observer.observe(host);
    const stopWake = listenForWake((suspect) => this.#attachment.wake(suspect));
    this.#cleanups.push(stopBringing, () => observer.disconnect(), stopWake);
  }

  /** False takes a key away from the program: only combinations no program can see. */
  #onKey(event: KeyboardEvent): boolean {
    const key = pageKeyOf(event);
    if (key === null) return this.#passes(event);
    event.preventDefault();
    event.stopPropagation();
    if (event.type !== 'keydown') return false;
    if (key === 'copy') void this.copySelection();
    else this.#options.onPageKey(key);
    return false;
  }

  /** Whether a key goes to the program; where it cannot, the person is told at once. */
  #passes(event: KeyboardEvent): boolean {
    if (this.#lock(interruptOf(event)) === null) return true;
    const plain = event.type === 'keydown' && !event.metaKey && !MODIFIERS.includes(event.key);
    if (plain && !event.repeat) this.#mayType();
    // The browser's own keys still work; a printable one must not reach the hidden input.
    if (plain && !event.ctrlKey) event.preventDefault();
    return false;
  }
}
