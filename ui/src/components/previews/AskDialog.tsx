/** A prompt for an agent of a sandbox, which quotes the page of a preview or a comment. Its person
 *  reads and changes it before it is sent: what it quotes are words of strangers. */

import { useState } from 'react';
import { api } from '../../api/client';
import type { Agent } from '../../api/types';
import { t } from '../../language/t';
import { notify, notifyFailure } from '../../state/announce';
import { withPicture, type Picture } from '../../state/previews/reports';
import { uploadFiles } from '../../terminal/screen/uploads';
import { useAgents } from '../agents/useAgents';
import { Dialog } from '../parts/Dialog';
import { Choice, Field } from '../parts/Field';
import { PictureChoice, useDrawn } from './PictureChoice';

interface AskDialogProps {
  readonly sandboxId: string;
  /** What it begins with. */
  readonly words: string;
  /** The picture of what it is about; null where it is about nothing that has one. */
  readonly picture: Picture | null;
  /** Hands the prompt to an agent that is not there yet; null where that is not offered. */
  readonly onOther?: ((prompt: string) => void) | null;
  readonly onClose: () => void;
}

export function AskDialog(props: AskDialogProps) {
  const { sandboxId, words, picture, onOther = null, onClose } = props;
  const agents = useAgents(sandboxId);
  const [chosen, setChosen] = useState<string | null>(null);
  const [prompt, setPrompt] = useState(words);
  const [busy, setBusy] = useState(false);
  const [goes, setGoes] = useState(true);
  const shown = useDrawn(picture ?? 'none');
  const agent = agents.find(({ id }) => id === chosen) ?? agents[0] ?? null;

  async function send(to: Agent): Promise<void> {
    setBusy(true);
    try {
      await api.ask(sandboxId, to.id, await wholePrompt());
      notify(t`It was sent to ${to.agent}.`);
      onClose();
    } catch (reason) {
      notifyFailure(t`${to.agent} was not asked`)(reason);
      setBusy(false);
    }
  }

  /** The prompt, with the picture put where the agent can read it. */
  async function wholePrompt(): Promise<string> {
    if (!goes || shown === null || shown === 'coming') return prompt;
    const [path] = await uploadFiles(sandboxId, [new File([shown.file], 'element.png')]);
    return path === undefined ? prompt : withPicture(prompt, path);
  }

  return (
    <Dialog title={t`Ask the agent`} onClose={onClose} wide>
      <form
        className="preview-ask"
        onSubmit={(event) => {
          event.preventDefault();
          if (agent !== null && !busy) void send(agent);
        }}
      >
        <Field label={t`Prompt`} hint={t`Lines with > are quoted.`} trouble={null}>
          {(wiring) => (
            <textarea
              {...wiring}
              rows={10}
              value={prompt}
              onChange={({ target }) => setPrompt(target.value)}
            />
          )}
        </Field>
        {picture !== null && <PictureChoice {...{ shown, goes }} onChange={setGoes} />}
        <AgentChoice {...{ agents, agent }} onChoose={setChosen} />
        <footer className="dialog-foot">
          {agent === null && (
            <span className="quiet">{t`No agent runs here that could take it.`}</span>
          )}
          <OtherWay {...{ onOther, onClose }} prompt={prompt} />
          <button
            type="submit"
            className="button button-primary"
            disabled={agent === null || busy || prompt.trim() === ''}
          >
            {agent === null ? t`Send` : t`Send to ${agent.agent}`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface AgentChoiceProps {
  readonly agents: readonly Agent[];
  readonly agent: Agent | null;
  readonly onChoose: (id: string) => void;
}

/** Who gets it, where there are several. */
function AgentChoice({ agents, agent, onChoose }: AgentChoiceProps) {
  if (agents.length < 2) return null;
  return (
    <Choice label={t`Agent`} value={agent?.id ?? ''} onChange={onChoose}>
      {agents.map(({ id, agent: name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Choice>
  );
}

interface OtherWayProps extends Pick<AskDialogProps, 'onClose'> {
  readonly prompt: string;
  readonly onOther: ((prompt: string) => void) | null;
}

function OtherWay({ prompt, onOther, onClose }: OtherWayProps) {
  const act = onOther === null ? onClose : () => onOther(prompt);
  return (
    <button type="button" className="button" onClick={act}>
      {onOther === null ? t`Cancel` : t`Another agent…`}
    </button>
  );
}
