/**
 * What a repository's own file proposes, asked before a sandbox is made from it. Only what the
 * person approved goes along, by its digest.
 */

import { call } from '../../api/call';
import type { CreateSandbox, Project } from '../../api/types';
import { t } from '../../language/t';
import { notify } from '../announce';
import { Store } from '../store';

type Repo = NonNullable<CreateSandbox['repos']>[number];

export type Decision = 'approved' | 'declined' | 'later';

export interface ProjectQuestion {
  readonly project: Project;
  readonly answer: (decision: Decision) => void;
}

/** The question that is open now; `ProjectDialog` shows it. */
export const projectQuestion = new Store<ProjectQuestion | null>(null);

/** Returns the request with the approved project of its first repository, after asking about one
 * that is undecided. */
export async function withProject(body: CreateSandbox): Promise<CreateSandbox> {
  const [repo] = body.repos ?? [];
  if (repo === undefined) return body;
  const project = await read(repo);
  if (project === null) return body;
  if (project.problem !== null) notify(t`${project.problem} Nothing of it is used.`, 'bad');
  if (project.decision === 'approved')
    return { ...body, project: { digest: project.digest, setup: 'now' } };
  if (!project.undecided) return body;
  const decision = await asked(project);
  if (decision === 'later') return body;
  await call('POST', 'v1/projects/decision', {
    repository: named(repo),
    shown: project.digest,
    decision,
  });
  if (decision === 'declined') return body;
  return { ...body, project: { digest: project.digest, setup: 'now' } };
}

/** Runs the set-up of a sandbox's project again. */
export async function runSetup(sandbox: string): Promise<void> {
  await call('POST', `v1/sandboxes/${encodeURIComponent(sandbox)}/setup`);
}

/** Begins a task although its set-up failed or still runs. */
export async function beginTask(sandbox: string): Promise<void> {
  await call('POST', `v1/sandboxes/${encodeURIComponent(sandbox)}/task/begin`);
}

/** A repository that cannot be read now makes no project; the create says what is wrong with it. */
async function read(repo: Repo): Promise<Project | null> {
  const query = new URLSearchParams(named(repo));
  try {
    return (await call('GET', `v1/projects/file?${query.toString()}`)) as Project;
  } catch {
    return null;
  }
}

function named(repo: Repo): Record<string, string> {
  const parts = {
    repo_url: repo.repo_url,
    key: repo.key,
    branch: repo.branch,
    from_branch: repo.from_branch,
  };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value)) as Record<
    string,
    string
  >;
}

function asked(project: Project): Promise<Decision> {
  return new Promise((resolve) => {
    projectQuestion.set({
      project,
      answer: (decision) => {
        projectQuestion.set(null);
        resolve(decision);
      },
    });
  });
}
