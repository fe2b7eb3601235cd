(function (pages) {
  // Tells Atoll's preview pane, the page that holds this frame, about errors of this document.
  // It tells nobody else, and nothing before that page asked. Without such a page it does nothing.
  'use strict';
  document.currentScript?.remove();
  const pane = window.parent;
  if (pane === window || pane !== window.top) return;

  const MOST_KEPT = 50;
  const MOST_A_SECOND = 20;
  const LONGEST = 2000;
  let page = null;
  let kept = [];
  let second = 0;
  let told = 0;

  const short = (text, most) => String(text).replaceAll(location.origin, '').slice(0, most);

  function tell(message) {
    pane.postMessage({ atoll: 'preview', ...message }, page);
  }

  function report(source, text) {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, told] = [now, 0];
    told += 1;
    if (told > MOST_A_SECOND) return;
    const message = { kind: 'error', source, text: short(text, LONGEST) };
    if (page !== null) tell(message);
    else if (kept.length < MOST_KEPT) kept.push(message);
  }

  function wordsOf(value) {
    try {
      if (value instanceof Error) return errorWords(value);
      if (typeof value !== 'object' || value === null) return String(value);
      const plain = [Object.prototype, Array.prototype, null];
      if (!plain.includes(Object.getPrototypeOf(value))) return Object.prototype.toString.call(value);
      return JSON.stringify(value);
    } catch {
      return '?';
    }
  }

  /** The stack of an error; some browsers leave its message out there. */
  function errorWords(error) {
    const stack = String(error.stack ?? '');
    const name = `${error.name}: ${error.message}`;
    return stack.includes(String(error.message)) && stack !== '' ? stack : `${name}\n${stack}`;
  }

  /** The arguments of `console.error` as it prints them: the first may have places for others. */
  function printed([first, ...others]) {
    if (typeof first !== 'string') return [first, ...others].map(wordsOf).join(' ');
    const filled = first.replace(/%[sdifoOc]/g, (place) => {
      if (others.length === 0) return place;
      const value = others.shift();
      return place === '%c' ? '' : wordsOf(value);
    });
    return [filled, ...others.map(wordsOf)].join(' ');
  }

  const { error: write } = console;
  console.error = function (...words) {
    report('console', printed(words));
    write.apply(console, words);
  };
  window.addEventListener('error', ({ error, message, filename, lineno, colno }) => {
    if (message === undefined) return;
    const where = filename ? `\n    at ${filename}:${lineno}:${colno}` : '';
    report('uncaught', error instanceof Error ? errorWords(error) : `${message}${where}`);
  });
  window.addEventListener('unhandledrejection', ({ reason }) => {
    report('rejection', wordsOf(reason));
  });

  window.addEventListener('message', (event) => {
    const { data, origin, source } = event;
    if (source !== pane || !pages.includes(origin) || data?.atoll !== 'preview') return;
    event.stopImmediatePropagation();
    if (data.kind === 'listen') {
      page = origin;
      tell({ kind: 'ready' });
      for (const message of kept) tell(message);
      kept = [];
    }
  });
});
