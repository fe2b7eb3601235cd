/** Letters and marks that count as printable and show nothing, for a class of a regular expression. */
export const BLANK = '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2800\\u3164\\uffa0';
