/** The lint rule `words/written`: what a person reads stands in t`…` or plural(n, { … }). */
import ts from 'typescript';
import { isWritten, unwritten } from './text.js';

const written = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      unwritten: 'A person reads this: write t`…`, so that it can be translated.',
      frozen: 'This would keep the language it is imported in: put worded(() => …) around it.',
    },
  },
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices;
    const report = (source, node, messageId) => {
      const at = (place) => {
        const { line, character } = source.getLineAndCharacterOfPosition(place);
        return { line: line + 1, column: character };
      };
      context.report({ messageId, loc: { start: at(node.getStart()), end: at(node.end) } });
    };
    return {
      Program(node) {
        const source = esTreeNodeToTSNodeMap.get(node);
        const checker = program.getTypeChecker();
        for (const one of unwritten(source, checker)) report(source, one, 'unwritten');
        for (const one of frozen(source)) report(source, one, 'frozen');
      },
    };
  },
};

/** The messages that are said when the source is imported. */
function frozen(source) {
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node)) return;
    if (isWritten(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

export const words = { rules: { written } };
