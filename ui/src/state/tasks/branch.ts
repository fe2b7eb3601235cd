/** The branch that a task's words propose; the rule is `domain/repository/branch.py`'s. Pure. */

const MAX = 40;
const FILLING = new Set(
  (
    'a an and are as at be by can could for from i in is it its me my of on our please should so ' +
    'that the then there this to we with would you your'
  ).split(' '),
);

/** `Please fix the login page!` gives `fix-login-page`; '' for a sentence without Latin words. */
export function proposedBranch(sentence: string): string {
  const line = sentence.trim().slice(0, 500).split('\n')[0] ?? '';
  const plain = line
    .normalize('NFKD')
    .replace(/[^ -~]|'/g, '')
    .toLowerCase();
  const words = plain.match(/[a-z0-9]+/g) ?? [];
  const telling = words.filter((word) => !FILLING.has(word));
  let name = '';
  for (const word of telling.length > 0 ? telling : words) {
    const longer = name === '' ? word.slice(0, MAX) : `${name}-${word}`;
    if (longer.length > MAX) break;
    name = longer;
  }
  return name;
}

/** The branch, or with the first free number appended. */
export function freeBranch(branch: string, taken: ReadonlySet<string>): string {
  let name = branch;
  for (let number = 2; name !== '' && taken.has(name); number += 1) name = `${branch}-${number}`;
  return name;
}

/** The branch on which one of several agents works. */
export function branchForAgent(branch: string, agent: string): string {
  return `${branch}-${agent.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;
}
