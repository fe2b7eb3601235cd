/** The page's few icons, drawn on a 16-unit grid; decoration only, the words say it. */

const paths = {
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  branch:
    'M5 4v8M5 4a1.5 1.5 0 1 0 0-.01M5 12a1.5 1.5 0 1 0 0 .01M11 5a1.5 1.5 0 1 0 0-.01M11 5c0 3-6 2.5-6 5.5',
  terminal: 'm4 5 3 3-3 3M9 11h3.5',
  agent: 'M8 1.8 9.7 6.3 14.2 8 9.7 9.7 8 14.2 6.3 9.7 1.8 8 6.3 6.3Z',
  log: 'M3.5 4h9M3.5 8h9M3.5 12h5.5',
  shield: 'M8 1.8 13 3.6v4c0 3.2-2.2 5.4-5 6.6-2.8-1.2-5-3.4-5-6.6v-4Z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0-9.2V8l2.2 1.6',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  copy: 'M6 6h7v7H6ZM10 6V3H3v7h3',
  text: 'M3 4h10M8 4v9',
  splitRight: 'M2.5 3h11v10h-11ZM8 3v10',
  splitDown: 'M2.5 3h11v10h-11ZM2.5 8h11',
  grid: 'M2.5 3h11v10h-11ZM8 3v10M2.5 8h11',
  alone: 'M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9',
  fit: 'M3 6V3h3M13 6V3h-3M3 10v3h3M13 10v3h-3',
  command:
    'M6 6h4v4H6ZM6 6H4.5A1.5 1.5 0 1 1 6 4.5ZM10 6V4.5A1.5 1.5 0 1 1 11.5 6ZM10 10h1.5a1.5 1.5 0 1 1-1.5 1.5ZM6 10v1.5A1.5 1.5 0 1 1 4.5 10Z',
  down: 'm4 6 4 4 4-4',
  up: 'm4 10 4-4 4 4',
  more: 'M3.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2ZM8 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2ZM12.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2Z',
  sleep: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  stop: 'M4 4h8v8H4Z',
  start: 'M5 3.5 12 8l-7 4.5Z',
  recreate: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3',
  destroy: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5',
  person: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8Zm-5.2 6a5.2 5.2 0 0 1 10.4 0',
  cards: 'M3 3h10v4H3ZM3 9h10v4H3Z',
  share:
    'M11.5 5.5a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2ZM4.5 9.6a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2ZM11.5 13.7a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2ZM6 7.2l4-2.4M6 8.8l4 2.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  interrupt: 'M8 2.5v6M8 12.5v.01',
  record: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 9.6a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2Z',
  connect: 'M2.5 5.5h4v-4h-4ZM9.5 14.5h4v-4h-4ZM4.5 5.5v4a3 3 0 0 0 3 3h2',
  inbox: 'M2.5 9 4.6 3h6.8l2.1 6v4h-11ZM2.5 9h3.2l.9 1.8h2.8l.9-1.8h3.2',
  key: 'M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2.5 11.4v2.1h2.6v-1.7h1.7v-1.7l1-1A3.5 3.5 0 0 0 10.5 9ZM11.2 5v.01',
  bell: 'M4 11.5h8l-1-1.6V7a3 3 0 0 0-6 0v2.9ZM6.8 13.5h2.4',
  question: 'M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.6v.01',
  file: 'M4 2.5h5l3 3v8H4ZM9 2.5v3h3',
  note: 'M3 3h10v6.5L9.5 13H3ZM13 9.5H9.5V13',
  todo: 'M3 3h10v10H3ZM5.5 8l1.8 1.8L10.8 6',
  link: 'M7 9a2.6 2.6 0 0 0 3.7 0l2-2A2.6 2.6 0 0 0 9 3.3l-1 1M9 7a2.6 2.6 0 0 0-3.7 0l-2 2A2.6 2.6 0 0 0 7 12.7l1-1',
  frame: 'M4.5 2v12M11.5 2v12M2 4.5h12M2 11.5h12',
  group: 'M2.5 2.5h7v7h-7ZM6.5 6.5h7v7h-7Z',
  lock: 'M4 7.5h8V13H4ZM5.5 7.5V5.3a2.5 2.5 0 0 1 5 0v2.2',
  comment: 'M2.5 3h11v8H8l-3 2.5V11H2.5Z',
  archive: 'M2.5 3h11v3h-11ZM3.5 6v7h9V6M6.5 8.8h3',
  review: 'm3.5 8.5 3 3 6-7',
  unreview: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  revive: 'M5 3.5 12 8l-7 4.5Z',
  fork: 'M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM8 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 5.5c0 2 1.5 2.5 3.5 2.5s3.5-.5 3.5-2.5M8 8v2.5',
  snapshot: 'M2.5 5h2.7l1-1.5h3.6l1 1.5h2.7v8h-11ZM8 11.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4Z',
  merge:
    'M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 10.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 5.5c0 2.4 2.3 3.5 5.5 3.5',
  undo: 'M5.5 3.5 3 6l2.5 2.5M3 6h6.5a3.25 3.25 0 0 1 0 6.5H6',
  redo: 'M10.5 3.5 13 6l-2.5 2.5M13 6H6.5a3.25 3.25 0 0 0 0 6.5H10',
  minus: 'M3 8h10',
  hand: 'M5 8V4.2a1 1 0 0 1 2 0M7 7V3a1 1 0 0 1 2 0v4M9 7V3.8a1 1 0 0 1 2 0V10c0 2.2-1.4 3.8-3.4 3.8S4.7 12.7 4 11L2.8 8.6a1 1 0 0 1 1.7-.9L5 8.6',
  pointer: 'M3.5 2.5 12.5 7 8.3 8.3 7 12.5Z',
  board: 'M2.5 3h11v10h-11ZM5 5.5h3v2.5H5ZM9.5 8.5H11v2H9.5Z',
  folder: 'M2 4.5h4l1.5 2H14v6.5H2Z',
  folderPlus: 'M2 4.5h4l1.5 2H14v6.5H2ZM8 8v3.5M6.2 9.8h3.6',
  right: 'm6 4 4 4-4 4',
  left: 'm10 4-4 4 4 4',
  pulse: 'M1.5 8h3L6.3 3.5l3 9L11.2 8h3.3',
  upload: 'M8 10.5v-8M4.8 5.5 8 2.3l3.2 3.2M3 10.5v3h10v-3',
  download: 'M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 10.5v3h10v-3',
  rename: 'M3 13h2.5l7-7L10 3.5l-7 7ZM8.6 4.9l2.5 2.5',
  commit: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 8h4M10.5 8h4',
  network: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c4 3.4 4 8.6 0 12C4 10.6 4 5.4 8 2Z',
} as const;

export type IconName = keyof typeof paths;
export const ICONS = Object.keys(paths) as readonly IconName[];

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark of the house: a ring of land with a way in. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path className="mark-reef" d="M16 4.5a11.5 11.5 0 1 1-10 5.8" />
      <circle className="mark-islet" cx="10.2" cy="6" r="2" />
      <path className="mark-prompt" d="M11.8 12.8 15.4 16l-3.6 3.2M17.2 19.6h4" />
    </svg>
  );
}
