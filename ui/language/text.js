/**
 * Which words in a source are text that a person reads, and which of them no catalogue holds.
 *
 * Text is what stands between tags, in attributes that are shown or read aloud, and any string that
 * looks like a sentence or begins as one. What the type checker knows as one of a few fixed strings
 * is a name of the program, not text.
 */
import ts from 'typescript';

/** Attributes and properties that are shown or read aloud, however short the word. */
const SHOWN = new Set(
  (
    'action alt answer aria-description aria-label aria-roledescription aria-valuetext before ' +
    'empty hint label legend message placeholder summary title trouble what words'
  ).split(' '),
);
/** Attributes and properties that no person reads. */
const HIDDEN = new Set(
  (
    'accept autoComplete autoCapitalize charset className class d data-key data-testid fill font ' +
    'fontFamily href htmlFor id key kind name pattern points rel role sandbox shape src style ' +
    'stroke target transform type viewBox'
  ).split(' '),
);
/** Calls whose strings are names of the platform or words for developers. */
const NAMES =
  /^(?:console\.\w+|.*\.(?:closest|matches|querySelector|querySelectorAll|addEventListener|removeEventListener|setAttribute|getAttribute|toggleAttribute|getItem|setItem|getPropertyValue|setProperty|get|has|set|append|startsWith|endsWith|includes|indexOf|split|join|toLocaleString|localeCompare|getMap|getArray|getText)|(?:window\.)?matchMedia|CustomEvent|Error|TypeError|RangeError|RegExp|URL|DOMException|Worker|Date)$/;
const KEY =
  /^(?:Enter|Escape|Esc|Tab|Space|Home|End|Insert|Delete|Backspace|Page(?:Up|Down)|Arrow\w+|Control|Ctrl|Alt|Shift|Meta|AltGraph|F\d+|Key[A-Z]|Digit\d|Bracket\w+|CapsLock|Arrows|Wheel|Unidentified|Dead|Process|.)$/;
/** Names that are the same in every language. */
const NAMED = new Set(
  'Android Atoll Chrome Edge Firefox GitHub HEAD Linux Opera Safari Windows macOS'.split(' '),
);
const OPTION = /^--/;
const PROGRAM = /^(?:Mac OS|atoll (?:pull|(?:desktop|login)\b.*)|\w+\/)$/;
const HEADER = /^(?:[A-Z][A-Za-z]*-)+[A-Z][A-Za-z]*$/;
const SELECTOR = /^[.#[]|^(?:a|button|input)[,[:]/;
const PATH = /^[MLHVCSQTAZ][MLHVCSQTAZmlhvcsqtaz0-9{} .,-]*$/;
const STYLE = /^\(?(?:rgb|translate\(|prefers-|pointer:|display-)|\d(?:px|ch)\b/;
const LETTER = /\p{L}/u;
const SENTENCE = /(?:\p{L}[\p{L}’'”):,;.…]*|\d|\})\s+[“(]?(?:\p{L}{2}|\p{L}\s|\{)/u;
const BEGUN = /^\s*[“(]?\p{Lu}\p{Ll}|…$/u;

/** Elements whose text is quoted from a program and the same in every language. */
const QUOTED = new Set(['code', 'kbd', 'pre', 'samp', 'style', 'script']);

/** The nodes of a source that are text and that no catalogue holds. */
export function unwritten(source, checker) {
  const found = [];
  const visit = (node) => {
    if (isText(node, checker)) found.push(node);
    if (!isWritten(node)) ts.forEachChild(node, visit);
    else written(node, visit);
  };
  visit(source);
  return found;
}

/** Whether a catalogue holds the strings of this node: t`…` and plural(n, …). */
export function isWritten(node) {
  if (ts.isTaggedTemplateExpression(node)) return node.tag.getText() === 't';
  return ts.isCallExpression(node) && node.expression.getText() === 'plural';
}

/** Visits what stands in the places of a written string. */
function written(node, visit) {
  if (ts.isCallExpression(node)) {
    const [count, , values] = node.arguments;
    for (const each of [count, values]) if (each !== undefined) visit(each);
  } else if (ts.isTemplateExpression(node.template)) {
    for (const span of node.template.templateSpans) visit(span.expression);
  }
}

function isText(node, checker) {
  if (ts.isJsxText(node)) {
    return LETTER.test(node.text) && !NAMED.has(node.text.trim()) && !quoted(node);
  }
  const words = wordsOf(node);
  if (
    words === null ||
    !LETTER.test(words) ||
    NAMED.has(words) ||
    isKeys(words) ||
    notRead(node) ||
    quoted(node)
  )
    return false;
  const place = placeOf(node);
  if (HIDDEN.has(place)) return false;
  if (!SHOWN.has(place) && !looksLikeText(words)) return false;
  return !isName(node, checker);
}

/** What a string says, with `{}` for what is put in; null for what is no string. */
function wordsOf(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `{}${literal.text}`).join('');
}

function looksLikeText(words) {
  if (KEY.test(words) || isClasses(words)) return false;
  if (
    [OPTION, PROGRAM, HEADER, SELECTOR, PATH, STYLE].some((form) => form.test(words)) ||
    isClasses(words)
  )
    return false;
  return SENTENCE.test(words) || BEGUN.test(words);
}

/** Whether words are keys to press together, such as `Ctrl Shift G`. */
function isKeys(words) {
  const keys = words.split(/[ +]/);
  return keys.length > 1 && keys.every((key) => KEY.test(key));
}

/** Whether words are classes of an element, such as `tab tab-on`. */
function isClasses(words) {
  const [first, ...rest] = words.trim().split(/\s+/);
  return rest.some((word) => word.startsWith(`${first.split('-')[0]}-`));
}

/** Whether a node is the text of an element whose text is quoted. */
function quoted(node) {
  let { parent } = node;
  while (passes(parent)) parent = parent.parent;
  return ts.isJsxElement(parent) && QUOTED.has(parent.openingElement.tagName.getText());
}

/** Whether the syntax around a string makes it a name: an import, a type, a key, a comparison. */
function notRead(node) {
  const { parent } = node;
  if (ts.isTaggedTemplateExpression(parent) || ts.isLiteralTypeNode(parent)) return true;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isElementAccessExpression(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return true;
  }
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
    return NAMES.test(parent.expression.getText());
  }
  return ts.isBinaryExpression(parent) && COMPARES.has(parent.operatorToken.kind);
}

const COMPARES = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.InKeyword,
]);

/**
 * The attribute or property that a string is the value of; `words` where it stands between tags or
 * in a written string, empty where it is none of these.
 */
function placeOf(node) {
  for (let at = node; ; at = at.parent) {
    const { parent } = at;
    if (ts.isTaggedTemplateExpression(parent) && isWritten(parent)) return 'words';
    if (ts.isJsxExpression(parent) && !ts.isJsxAttribute(parent.parent)) return 'words';
    if (ts.isJsxAttribute(parent)) return parent.name.getText();
    if (ts.isPropertyAssignment(parent) && parent.initializer === at) {
      return parent.name.getText().replace(/^'|'$/g, '');
    }
    if (ts.isConditionalExpression(parent) && parent.condition === at) return '';
    if (!passes(parent)) return '';
  }
}

/** Whether the value of a part is the value of the whole. */
function passes(node) {
  return (
    ts.isJsxExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isConditionalExpression(node) ||
    ts.isBinaryExpression(node) ||
    ts.isTemplateSpan(node) ||
    ts.isTemplateExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node)
  );
}

/** Whether the checker knows a string as one of a few: a state, a kind, an icon. */
function isName(node, checker) {
  const type = checker.getContextualType(node);
  if (type === undefined || type.flags & ts.TypeFlags.StringLiteral) return type !== undefined;
  if (!type.isUnion()) return false;
  const strings = type.types.filter(({ flags }) => flags & ts.TypeFlags.StringLike);
  return strings.length > 0 && strings.every(({ flags }) => flags & ts.TypeFlags.StringLiteral);
}
