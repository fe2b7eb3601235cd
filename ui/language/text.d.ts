import type { Node, SourceFile, TypeChecker } from 'typescript';

export function unwritten(source: SourceFile, checker: TypeChecker): Node[];
export function isWritten(node: Node): boolean;
