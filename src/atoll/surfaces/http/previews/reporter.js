(function (takePicture, pages) {
  // Tells Atoll's preview pane, the page that holds this frame, about errors of this document.
  // On that page's wish a person picks an element here. It tells nobody else, and nothing before that page asked. Without such a page it does nothing.
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

  /** A selector that finds this element alone, as short as classes and places allow. */
  function selectorOf(element) {
    const isUnique = (selector) => document.querySelectorAll(selector).length === 1;
    const parts = [];
    for (let one = element; one !== null && parts.length < 8; one = one.parentElement) {
      const named = one.id === '' ? '' : `#${CSS.escape(one.id)}`;
      if (named !== '' && isUnique(named)) return [named, ...parts].join(' > ');
      parts.unshift(stepOf(one));
      if (isUnique(parts.join(' > '))) break;
    }
    return parts.join(' > ');
  }

  function stepOf(element) {
    const classes = [...element.classList].slice(0, 3).map((word) => `.${CSS.escape(word)}`);
    const step = `${CSS.escape(element.localName)}${classes.join('')}`;
    const siblings = [...(element.parentElement?.children ?? [])];
    if (siblings.filter((one) => one.matches(step)).length < 2) return step;
    const alike = siblings.filter((one) => one.localName === element.localName);
    return `${step}:nth-of-type(${alike.indexOf(element) + 1})`;
  }

  const outline = document.createElement('div');
  let picking = false;

  function drawAround(element) {
    const { left, top, width, height } = element.getBoundingClientRect();
    const looks = { all: 'initial', position: 'fixed', 'z-index': '2147483647' };
    const place = { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` };
    const line = { outline: '2px solid #2f6feb', background: '#2f6feb22', 'pointer-events': 'none' };
    for (const [name, value] of Object.entries({ ...looks, ...place, ...line }))
      outline.style.setProperty(name, value, 'important');
    if (!outline.isConnected) document.documentElement.append(outline);
  }

  function endPicking() {
    picking = false;
    outline.remove();
  }

  /** Keeps what a person does from the page while they pick. What the page makes up is no person's. */
  function onInput(event) {
    if (!picking || !event.isTrusted) return;
    event.stopImmediatePropagation();
    const { type, target } = event;
    if (type === 'pointermove' && target instanceof Element) drawAround(target);
    if (['mousedown', 'click', 'contextmenu', 'keydown'].includes(type)) event.preventDefault();
    if (type === 'keydown' && event.key === 'Escape') {
      endPicking();
      tell({ kind: 'pick-ended' });
    }
    if (type !== 'click' || !(target instanceof Element)) return;
    endPicking();
    const text = short((target.innerText ?? target.textContent).trim(), 500);
    const selector = short(selectorOf(target), 500);
    tell({ kind: 'picked', path: short(location.pathname, 300), selector, text });
    takePicture(target).then(tellPicture, () => tellPicture(null));
  }

  function tellPicture(png) {
    tell({ kind: 'picture', png });
  }

  const inputs = ['pointermove', 'pointerdown', 'pointerup', 'mousedown', 'mouseup', 'click'];
  for (const type of [...inputs, 'contextmenu', 'keydown', 'keyup', 'touchstart', 'touchend'])
    window.addEventListener(type, onInput, { capture: true, passive: false });

  window.addEventListener('message', (event) => {
    const { data, origin, source } = event;
    if (source !== pane || !pages.includes(origin) || data?.atoll !== 'preview') return;
    event.stopImmediatePropagation();
    if (data.kind === 'listen') {
      page = origin;
      tell({ kind: 'ready' });
      for (const message of kept) tell(message);
      kept = [];
    } else if (data.kind === 'pick') {
      picking = page !== null;
    } else if (data.kind === 'leave') {
      endPicking();
    }
  });
});
