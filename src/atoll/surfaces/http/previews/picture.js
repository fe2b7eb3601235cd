(function () {
  // Draws an element of this document as it looks now: a copy with the looks of each part, in an
  // SVG image. Such an image runs no script and loads nothing: files of this origin are written
  // into it, and those of others are left out.
  'use strict';

  const MOST_PARTS = 800;
  const MOST_PIXELS = 2_000_000;
  const MOST_FILES = 24;
  const MOST_FILE_BYTES = 1_000_000;
  const PATIENCE_MS = 4_000;
  const MARGIN = 8;
  const XHTML = 'http://www.w3.org/1999/xhtml';
  const SVG = 'http://www.w3.org/2000/svg';
  const LEFT_OUT =
    /^(script|style|link|meta|template|noscript|source|track|iframe|frame|object|embed)$/;
  const KEPT = [
    'type',
    'checked',
    'open',
    'start',
    'reversed',
    'colspan',
    'rowspan',
    'dir',
    'lang',
  ];
  const BUTTONS = ['button', 'submit', 'reset'];
  const WITH_FILES = ['background-image', 'mask-image', 'list-style-image', 'border-image-source'];
  // Characters that no XML may have.
  const NO_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

  /** A document that is shown nowhere: what is made in it runs and loads nothing. */
  const inert = document.implementation.createHTMLDocument('');

  async function draw(element) {
    const box = element.getBoundingClientRect();
    const crop = visibleOf(box);
    const work = {
      crop,
      parts: 0,
      files: 0,
      families: new Set(),
      waits: [],
      initial: initialLooks(),
    };
    const copy = copyOf(element, work);
    if (copy === null) throw new Error('nothing to see');
    stand(copy, element, box, crop);
    dropOuterMargins(copy, element, box.top);
    await Promise.all(work.waits);
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(sheetOf(copy, crop, await fontsOf(work)))}`;
    await image.decode();
    return pngOf(image, crop, paperOf(element));
  }

  /** The part in view, with a margin. */
  function visibleOf({ left, top, right, bottom }) {
    const [x, y] = [Math.max(left - MARGIN, 0), Math.max(top - MARGIN, 0)];
    const width = Math.ceil(Math.min(right + MARGIN, innerWidth) - x);
    const height = Math.ceil(Math.min(bottom + MARGIN, innerHeight) - y);
    if (width < 1 || height < 1) throw new Error('out of view');
    return { x, y, width, height };
  }

  /** The looks that `all: initial` gives; only others are written. */
  function initialLooks() {
    const probe = document.createElement('div');
    probe.style.setProperty('all', 'initial');
    probe.style.setProperty('display', 'none', 'important');
    document.documentElement.append(probe);
    const looks = getComputedStyle(probe);
    const initial = new Map([...looks].map((name) => [name, looks.getPropertyValue(name)]));
    probe.remove();
    for (const name of ['display', 'direction', 'unicode-bidi']) initial.delete(name);
    return initial;
  }

  /** A copy of an element and of what is in view of it; null for what has no looks. */
  function copyOf(element, work) {
    const looks = getComputedStyle(element);
    if (LEFT_OUT.test(element.localName) || looks.display === 'none') return null;
    work.parts += 1;
    if (work.parts > MOST_PARTS) throw new Error('too large');
    const copy = emptyCopy(element);
    wear(copy, looks, work);
    const empty = ['img', 'input', 'textarea'].includes(copy.localName);
    if (empty || isOut(element.getBoundingClientRect(), looks, work.crop)) return copy;
    const children = [...childrenOf(element)].map((node) => copyOfNode(node, work));
    const around = ['::before', '::after'].map((which) => madeUp(element, which, work));
    copy.append(...[around[0], ...children, around[1]].filter((node) => node !== null));
    return copy;
  }

  function copyOfNode(node, work) {
    if (node.nodeType === Node.ELEMENT_NODE) return copyOf(node, work);
    if (node.nodeType !== Node.TEXT_NODE) return null;
    return inert.createTextNode(node.data.replace(NO_XML, '\ufffd'));
  }

  function childrenOf(element) {
    const given = element.localName === 'slot' ? (element.assignedNodes?.() ?? []) : [];
    return given.length > 0 ? given : (element.shadowRoot ?? element).childNodes;
  }

  /** Reports whether nothing of it is in view. What has no box, or lets others out, may be. */
  function isOut({ left, top, right, bottom, width, height }, { overflow }, crop) {
    if (width === 0 || height === 0 || overflow === 'visible') return false;
    const { x, y } = crop;
    return right < x || bottom < y || left > x + crop.width || top > y + crop.height;
  }

  /** The element alone, with the few attributes that give it a shape. What stands in fields is left out. */
  function emptyCopy(element) {
    const { localName, namespaceURI } = element;
    if (namespaceURI === SVG) return vectorCopy(element);
    if (['img', 'canvas', 'video'].includes(localName)) return stillOf(element);
    const known = /^[a-z][a-z0-9]*$/.test(localName) && namespaceURI === XHTML;
    const copy = inert.createElement(
      known && localName !== 'body' && localName !== 'html' ? localName : 'div',
    );
    for (const name of KEPT)
      if (element.hasAttribute(name)) copy.setAttribute(name, plain(element.getAttribute(name)));
    if (localName !== 'input') return copy;
    copy.toggleAttribute('checked', element.checked);
    if (BUTTONS.includes(element.type)) copy.setAttribute('value', plain(element.value));
    return copy;
  }

  function vectorCopy(element) {
    const copy = inert.createElementNS(SVG, element.localName);
    for (const { name, value } of element.attributes) {
      const own = /^[A-Za-z][\w-]*$/.test(name) && !name.startsWith('on') && name !== 'style';
      if (own && (name !== 'href' || value.startsWith('#'))) copy.setAttribute(name, plain(value));
    }
    return copy;
  }

  const plain = (text) => text.replace(NO_XML, '');

  /** What a picture, a drawing or a film shows now; blank where it is another origin's. */
  function stillOf(element) {
    const still = inert.createElement('img');
    const width = element.naturalWidth || element.videoWidth || element.width;
    const height = element.naturalHeight || element.videoHeight || element.height;
    const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height || 1)));
    try {
      const canvas = sheet(width * scale, height * scale);
      canvas.getContext('2d').drawImage(element, 0, 0, canvas.width, canvas.height);
      still.setAttribute('src', canvas.toDataURL());
    } catch {
      still.setAttribute('alt', '');
    }
    return still;
  }

  function sheet(width, height) {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [
      Math.max(1, Math.round(width)),
      Math.max(1, Math.round(height)),
    ];
    return canvas;
  }

  function wear(copy, looks, work) {
    for (const name of looks) {
      const value = looks.getPropertyValue(name);
      if (work.initial.get(name) === value || /^(transition|animation)/.test(name)) continue;
      copy.style.setProperty(name, value);
      if (WITH_FILES.includes(name) && value.includes('url('))
        work.waits.push(bring(copy, name, value, work));
    }
    for (const family of looks.fontFamily.split(',')) work.families.add(bare(family));
  }

  const bare = (family) =>
    family
      .trim()
      .replace(/^["']|["']$/g, '')
      .toLowerCase();

  /** Words that a style sheet puts before or after an element. */
  function madeUp(element, which, work) {
    const looks = getComputedStyle(element, which);
    if (element.namespaceURI !== XHTML || ['none', 'normal'].includes(looks.content)) return null;
    const copy = inert.createElement('span');
    wear(copy, looks, work);
    copy.style.removeProperty('content');
    copy.append(/^"(.*)"$/s.exec(looks.content)?.[1].replace(NO_XML, '') ?? '');
    return copy;
  }

  /** Puts files in place of their addresses. */
  async function bring(copy, name, value, work) {
    const addresses = [...value.matchAll(/url\("([^"]*)"\)/g)].map(([, address]) => address);
    let brought = value;
    for (const address of addresses) {
      const data = await fileAt(address, work);
      brought = data === null ? 'none' : brought.replace(address, data);
      if (data === null) break;
    }
    copy.style.setProperty(name, brought);
  }

  /** A file of this origin as a data URL; null for others', and for those that are too many or too large. */
  async function fileAt(address, work) {
    if (address.startsWith('data:')) return address;
    if (
      !URL.canParse(address, location.href) ||
      new URL(address, location.href).origin !== location.origin
    )
      return null;
    work.files += 1;
    if (work.files > MOST_FILES) return null;
    try {
      const answer = await fetch(address);
      const blob = await answer.blob();
      return answer.ok && blob.size <= MOST_FILE_BYTES ? await dataOf(blob) : null;
    } catch {
      return null;
    }
  }

  function dataOf(blob) {
    return new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(blob);
    });
  }

  /** The rules of the fonts that the copy has, which this page has loaded. */
  async function fontsOf(work) {
    const loaded = new Set(performance.getEntriesByType('resource').map(({ name }) => name));
    const rules = [...document.styleSheets]
      .flatMap(rulesOf)
      .filter((rule) => rule instanceof CSSFontFaceRule);
    const texts = rules.map(async ({ style, parentStyleSheet }) => {
      if (!work.families.has(bare(style.getPropertyValue('font-family')))) return '';
      const base = parentStyleSheet.href ?? document.baseURI;
      const addresses = [...style.getPropertyValue('src').matchAll(/url\("([^"]*)"\)/g)].map(
        ([, address]) => address,
      );
      const address = addresses
        .map((one) => new URL(one, base).href)
        .find((one) => loaded.has(one) || one.startsWith('data:'));
      const data = address === undefined ? null : await fileAt(address, work);
      if (data === null) return '';
      const others = ['font-family', 'font-weight', 'font-style', 'font-stretch', 'unicode-range'];
      const words = others
        .map((name) => [name, style.getPropertyValue(name)])
        .filter(([, value]) => value !== '');
      return `@font-face{${words.map((pair) => pair.join(':')).join(';')};src:url("${data}")}`;
    });
    return (await Promise.all(texts)).join('');
  }

  function rulesOf(styles) {
    try {
      return [...styles.cssRules];
    } catch {
      return [];
    }
  }

  /** Places the copy where the element is, whatever placed that. */
  function stand(copy, element, { left, top, width, height }, { x, y }) {
    const { display } = getComputedStyle(element);
    const looks = {
      position: 'absolute',
      margin: '0',
      float: 'none',
      transform: 'none',
      translate: 'none',
    };
    const place = { left: `${left - x}px`, top: `${top - y}px`, right: 'auto', bottom: 'auto' };
    const size = { 'box-sizing': 'border-box', width: `${width}px`, height: `${height}px` };
    const limits = {
      'min-width': '0',
      'max-width': 'none',
      'min-height': '0',
      'max-height': 'none',
    };
    const kind = { display: display === 'inline' ? 'inline-block' : display };
    for (const [name, value] of Object.entries({ ...looks, ...place, ...size, ...limits, ...kind }))
      copy.style.setProperty(name, value);
  }

  /** Takes the margins of first children away that lie outside of the element: the copy would have them inside. */
  function dropOuterMargins(copy, element, top) {
    let [own, made] = [element.firstElementChild, copy.firstElementChild];
    while (
      own !== null &&
      own.localName === made?.localName &&
      own.getBoundingClientRect().top <= top
    ) {
      made.style.setProperty('margin-top', '0');
      [own, made] = [own.firstElementChild, made.firstElementChild];
    }
  }

  function sheetOf(copy, { width, height }, fonts) {
    const part = new XMLSerializer().serializeToString(copy);
    const style = `${fonts}body *{all:initial}`.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return (
      `<svg xmlns="${SVG}" width="${width}" height="${height}"><foreignObject width="100%" height="100%">` +
      `<html xmlns="${XHTML}"><head><style>${style}</style></head>` +
      `<body style="margin:0;position:relative;width:${width}px;height:${height}px">${part}</body></html></foreignObject></svg>`
    );
  }

  /** The colour behind an element. */
  function paperOf(element) {
    const above = (one) => one.parentElement ?? one.getRootNode().host ?? null;
    for (let one = above(element); one !== null; one = above(one)) {
      const { backgroundColor } = getComputedStyle(one);
      if (!/^(transparent|rgba\(.*, 0\))$/.test(backgroundColor)) return backgroundColor;
    }
    return '#fff';
  }

  async function pngOf(image, { width, height }, paper) {
    const scale = Math.min(2, devicePixelRatio, Math.sqrt(MOST_PIXELS / (width * height)));
    const canvas = sheet(width * scale, height * scale);
    const pen = canvas.getContext('2d');
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = paper;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    return blob.arrayBuffer();
  }

  /** Resolves to the bytes of a PNG; rejects where there can be no picture. */
  return async function takePicture(element) {
    const late = new Promise((_, reject) => setTimeout(reject, PATIENCE_MS, new Error('late')));
    return Promise.race([draw(element), late]);
  };
})();
