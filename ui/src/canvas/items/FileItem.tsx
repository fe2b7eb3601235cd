/** A file of a sandbox as an item: text, an image, or what else it is. */

import { useState } from 'react';
import type { Sandbox } from '../../api/types';
import type { Chosen } from '../../components/files/FileExplorer';
import { FileViewer } from '../../components/files/viewer/FileViewer';
import { isLive } from '../../state/acts';
import { useRights } from '../../state/team/useRights';
import type { Item } from '../document/items';
import '../../styles/files.css';

interface FileItemProps {
  readonly sandbox: Sandbox;
  readonly item: Item;
}

/** A link within the file opens another in its place, for the person who follows it alone. */
export function FileItem({ sandbox, item }: FileItemProps) {
  const { sandbox_id: id } = sandbox;
  const { owns } = useRights(id);
  const [followed, setFollowed] = useState<Chosen | null>(null);
  const chosen: Chosen = followed ?? { place: { path: item.path, exact: null }, line: null };
  return <FileViewer {...{ id, live: isLive(sandbox), owns, chosen }} onOpen={setFollowed} />;
}
