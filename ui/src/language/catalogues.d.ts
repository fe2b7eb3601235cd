/** Catalogues as modules (language/catalogues.js). */

declare module '*.pot' {
  const words: import('./t').Catalogue;
  export default words;
}

declare module '*.po' {
  const words: import('./t').Catalogue;
  export default words;
}
