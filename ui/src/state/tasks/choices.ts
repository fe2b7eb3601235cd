/** What a person chose last for each repository, kept in this browser. */

const KEY = 'atoll.tasks';
/** Beyond that, the repositories chosen longest ago are dropped. */
const KEPT = 40;

/** The part of a draft that comes again with its repository. */
export interface Choice {
  readonly agents: readonly string[];
  readonly profile: string;
  readonly mode: 'tui' | 'machine';
  readonly asks: boolean;
  readonly network: string;
  readonly ttl: string;
  readonly maxWorking: string;
}

/** A repository of a draft: its select's value, and the address where that is `url`. */
export interface Source {
  readonly repo: string;
  readonly url: string;
}

interface Remembered {
  readonly source: Source;
  readonly choice: Choice;
}

/** The source and choice of the newest task; null where there was none. */
export function lastChoice(): Remembered | null {
  return read().at(-1) ?? null;
}

/** What was chosen last for a repository; null where nothing was. */
export function choiceOf(source: Source): Choice | null {
  const found = read().find((one) => nameOf(one.source) === nameOf(source));
  return found?.choice ?? null;
}

/** Keeps what was chosen for the draft's repository. */
export function rememberChoice(draft: Choice & Source): void {
  const { agents, profile, mode, asks, network, ttl, maxWorking, repo, url } = draft;
  const source = { repo, url: repo === 'url' ? url : '' };
  const others = read().filter((one) => nameOf(one.source) !== nameOf(source));
  const choice = { agents, profile, mode, asks, network, ttl, maxWorking };
  localStorage.setItem(KEY, JSON.stringify([...others, { source, choice }].slice(-KEPT)));
}

/** At a logout: the next person here chooses anew. */
export function forgetChoices(): void {
  localStorage.removeItem(KEY);
}

function nameOf({ repo, url }: Source): string {
  return repo === 'url' ? `url:${url.trim()}` : repo;
}

function read(): readonly Remembered[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(value) ? value.map(readOne).filter((one) => one !== null) : [];
  } catch {
    return [];
  }
}

/** One of them; null for what an older page wrote otherwise. */
function readOne(value: unknown): Remembered | null {
  if (typeof value !== 'object' || value === null) return null;
  const { source, choice } = value as Partial<Record<keyof Remembered, unknown>>;
  const at = fieldsOf(source);
  const of = fieldsOf(choice);
  const texts = [of['profile'], of['network'], of['ttl'], of['maxWorking']].map(textOf);
  const [profile = '', network = '', ttl = '', maxWorking = ''] = texts;
  const agents = Array.isArray(of['agents']) ? of['agents'] : [];
  return {
    source: { repo: textOf(at['repo']), url: textOf(at['url']) },
    choice: {
      agents: agents.filter((one) => typeof one === 'string'),
      ...{ profile, network, ttl, maxWorking },
      mode: of['mode'] === 'machine' ? 'machine' : 'tui',
      asks: of['asks'] === true,
    },
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
