/** Files that a person brings onto the canvas: they go into a sandbox, and items show them. */

import { useEffect, type RefObject } from 'react';
import { plural, t } from '../../language/t';
import { announce, notify, notifyFailure } from '../../state/announce';
import { plainName, uploadFiles, uploadRefusal, WORKSPACE } from '../../terminal/screen/uploads';
import { addItem } from '../document/acts';
import { centre, type Point } from '../document/geometry';
import { MAX_TITLE, sizeOf } from '../document/items';
import type { Stage } from './stage';

/** Units between two items that came together. */
const STEP = 32;
/** What takes files itself. */
const TAKES = '.pane-screen, .files, dialog';

/** Uploads files, and puts an item for each at a point of the plane. */
export async function bringFiles(
  stage: Stage,
  files: readonly File[],
  at: Point = centre(stage.window),
): Promise<void> {
  const why = refusal(stage, files);
  if (why !== null) {
    notify(why, 'bad');
    return;
  }
  const sandbox = sandboxOf(stage);
  if (sandbox === null) {
    notify(t`Open a terminal first: it brings a sandbox, which keeps the files.`);
    return;
  }
  try {
    const paths = await uploadFiles(sandbox, files);
    const made = paths.map((path, i) => put(stage, sandbox, path, files[i], shifted(at, i)));
    stage.choose(made, false);
    announce(
      plural(made.length, { one: 'The file is on the canvas.', other: '# files are here.' }),
    );
  } catch (reason) {
    notifyFailure(t`The files could not be uploaded`)(reason);
  }
}

function refusal(stage: Stage, files: readonly File[]): string | null {
  return stage.works ? uploadRefusal(files) : t`You may look here, not edit.`;
}

/** The sandbox of what is chosen, else of the first item with one. */
export function sandboxOf(stage: Stage): string | null {
  const item = [...stage.picked, ...stage.items].find(({ sandboxId }) => sandboxId !== null);
  return item?.sandboxId ?? null;
}

function put(stage: Stage, sandbox: string, full: string, file: File | undefined, at: Point) {
  const path = full.replace(`${WORKSPACE}/`, '');
  const kind = file?.type.startsWith('image/') === true ? 'image' : 'viewer';
  const size = sizeOf(kind);
  const box = { ...size, x: at.x - size.w / 2, y: at.y - size.h / 2 };
  const title = plainName(file?.name ?? '').slice(0, MAX_TITLE);
  return addItem(
    stage.board,
    { kind, box, fields: { sandbox_id: sandbox, path, title } },
    stage.author,
  );
}

function shifted({ x, y }: Point, times: number): Point {
  return { x: x + times * STEP, y: y + times * STEP };
}

/** Lets the person choose files of theirs. */
export function chooseFiles(stage: Stage): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = true;
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])];
    if (files.length > 0) void bringFiles(stage, files);
  });
  input.click();
}

/** Takes files that are dropped where nothing else takes them. */
export function useDroppedFiles(root: RefObject<HTMLDivElement | null>, stage: Stage): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const takes = ({ target, dataTransfer }: DragEvent): boolean =>
      dataTransfer?.types.includes('Files') === true &&
      !(target instanceof Element && target.closest(TAKES) !== null);
    const onOver = (event: DragEvent): void => {
      if (takes(event)) event.preventDefault();
    };
    const onDrop = (event: DragEvent): void => {
      if (!takes(event)) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const at = stage.at({ x: event.clientX - left, y: event.clientY - top });
      void bringFiles(stage, [...(event.dataTransfer?.files ?? [])], at);
    };
    element.addEventListener('dragover', onOver);
    element.addEventListener('drop', onDrop);
    return () => {
      element.removeEventListener('dragover', onOver);
      element.removeEventListener('drop', onDrop);
    };
  }, [root, stage]);
}
