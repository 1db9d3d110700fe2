// A keyed renderer: components describe what is shown, and only what differs is changed in the
// page, so that focus, selection, scroll positions, open <details> and half-made clicks stay. The
// names and their meaning are Preact's (`h`, `render`, `Fragment`, hooks), which could replace this
// file.

/**
 * @typedef {{type: any, props: Record<string, any>, children: any[], key: any}} ViewNode
 * @typedef {{node: any, parent?: any, place?: string, svg: boolean, depth: number, dom: any,
 *   parts: Instance[], hooks: any[], dirty?: boolean, gone?: boolean}} Instance
 */

const SVG = "http://www.w3.org/2000/svg";
// Set as properties, since people change them; every other name is an attribute.
const PROPERTIES = new Set(["value", "checked", "indeterminate"]);

export const Fragment = ({ children }) => children;

/** @returns {ViewNode} */
export function h(type, props, ...children) {
  return { type, props: props ?? {}, children, key: props?.key ?? null };
}

// ---- from nodes to instances, which remember what stands in the page

// The nodes to show among children, which may be nested lists with holes (null, false). A node keeps
// its instance while its type and its place stay the same: its place is its key among the nodes of
// one list, or else its number there, holes counted.
function flatten(children, list = "", found = Object.assign([], { places: new Set() })) {
  children.forEach((node, i) => {
    if (Array.isArray(node)) flatten(node, `${list}${i}.`, found);
    else if (node !== null && node !== undefined && typeof node !== "boolean") {
      const keyed = node.key !== null && node.key !== undefined;
      let place = keyed ? `${list}=${node.key}` : `${list}${i}`;
      while (found.places.has(place)) place += "+"; // two nodes with one key
      found.places.add(place);
      found.push({ node: typeof node === "object" ? node : String(node), place });
    }
  });
  return found;
}

/** @returns {Instance} */
function create(node, parent, place) {
  const svg = node.type === "svg" || (parent.svg && parent.node.type !== "foreignObject");
  const depth = parent.depth + 1;
  /** @type {Instance} */
  const instance = { node, parent, place, svg, depth, dom: null, parts: [], hooks: [] };
  if (typeof node === "string") instance.dom = document.createTextNode(node);
  else if (typeof node.type === "string") {
    instance.dom = svg
      ? document.createElementNS(SVG, node.type)
      : document.createElement(node.type);
    patchChildren(instance, flatten(node.children));
    patchProps(instance.dom, {}, node.props, svg);
  } else compute(instance);
  return instance;
}

function update(instance, node) {
  const before = instance.node;
  instance.node = node;
  if (before === node) return;
  if (typeof node === "string") instance.dom.data = node;
  else if (typeof node.type === "string") {
    patchChildren(instance, flatten(node.children));
    patchProps(instance.dom, before.props, node.props, instance.svg);
  } else compute(instance);
}

function remove(instance) {
  instance.gone = true;
  for (const hook of instance.hooks) {
    const { cleanup } = hook;
    hook.cleanup = null; // once, also if it fails
    cleanup?.();
  }
  const ref = instance.dom && instance.node.props?.ref;
  if (ref?.current === instance.dom) ref.current = null; // a new element may have it already
  instance.parts.forEach(remove);
}

const typeOf = (node) => (typeof node === "string" ? "" : node.type);

// Are these the same children as before, in the same order? Most are.
const same = (parts, children) =>
  parts.length === children.length &&
  parts.every(
    (part, i) =>
      part.place === children[i].place && typeOf(part.node) === typeOf(children[i].node),
  );

function patchChildren(instance, children) {
  if (same(instance.parts, children)) {
    instance.parts.forEach((part, i) => update(part, children[i].node));
    // a component may have other elements now
    if (instance.dom && instance.parts.some((part) => !part.dom))
      place(instance.dom, instance.parts.flatMap(doms));
    return;
  }
  const old = new Map(instance.parts.map((part) => [part.place, part]));
  const parts = children.map(({ node, place }) => {
    const known = old.get(place);
    if (!known || typeOf(known.node) !== typeOf(node)) return create(node, instance, place);
    old.delete(place);
    update(known, node);
    return known;
  });
  for (const part of old.values()) {
    remove(part);
    for (const dom of doms(part)) dom.remove();
  }
  instance.parts = parts;
  if (typeof instance.node.type === "string") place(instance.dom, parts.flatMap(doms));
}

const doms = (instance) => (instance.dom ? [instance.dom] : instance.parts.flatMap(doms));

// Brings the children into this order. Those on a longest chain that is already in order are not
// touched: to move an element takes the focus and the scroll position from it.
function place(parent, wanted) {
  if (wanted.every((dom, i) => parent.childNodes[i] === dom)) return; // removed ones are gone
  const present = new Map(Array.from(parent.childNodes, (dom, i) => [dom, i]));
  const still = longestChain(wanted.map((dom) => present.get(dom) ?? -1));
  const focused = document.activeElement;
  let next = null;
  for (let i = wanted.length - 1; i >= 0; i--) {
    if (!still.has(i)) parent.insertBefore(wanted[i], next);
    next = wanted[i];
  }
  if (focused !== document.activeElement && parent.contains(focused))
    /** @type {HTMLElement} */ (focused).focus({ preventScroll: true });
}

// The places of a longest increasing chain of these numbers; -1 is never in it.
function longestChain(numbers) {
  const ends = []; // ends[k]: the place of the smallest last number of a chain of length k + 1
  const before = new Array(numbers.length);
  numbers.forEach((x, i) => {
    if (x < 0) return;
    let k = ends.length;
    while (k > 0 && numbers[ends[k - 1]] > x) k--;
    before[i] = k > 0 ? ends[k - 1] : -1;
    ends[k] = i;
  });
  const chain = new Set();
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) chain.add(i);
  return chain;
}

// ---- attributes, properties, events, references

function patchProps(dom, before, after, svg) {
  for (const name of Object.keys(before))
    if (!(name in after)) setProp(dom, name, before[name], null, svg);
  for (const [name, value] of Object.entries(after)) setProp(dom, name, before[name], value, svg);
}

function setProp(dom, name, before, value, svg) {
  if (name === "key" || name === "children") return; // for components
  if (name === "ref") {
    if (before !== value) {
      if (before?.current === dom) before.current = null;
      if (value) value.current = dom;
    }
  } else if (PROPERTIES.has(name) && !svg) {
    const wanted = name === "value" ? String(value ?? "") : Boolean(value);
    if (dom[name] !== wanted) dom[name] = wanted;
  } else if (before === value) return;
  else if (name.startsWith("on")) listen(dom, name.slice(2).toLowerCase(), value);
  else if (name === "style") setStyle(dom, before ?? {}, value ?? {});
  else if (value === null || value === undefined || value === false) dom.removeAttribute(name);
  else dom.setAttribute(name, value === true ? "" : value);
}

// One listener per kind of event stays on the element; what it calls is exchanged.
function listen(dom, kind, handler) {
  const handlers = (dom.handlers ??= {});
  if (handler && !(kind in handlers))
    dom.addEventListener(kind, (event) => handlers[kind]?.call(dom, event));
  handlers[kind] = handler;
}

// Through the object model, which the page's policy allows; it forbids style attributes.
function setStyle(dom, before, value) {
  for (const name of Object.keys(before)) if (!(name in value)) dom.style.removeProperty(name);
  for (const [name, text] of Object.entries(value))
    if (before[name] !== text) dom.style.setProperty(name, text);
}

// ---- components

let current = null, // the component that is computed now
  position = 0; // of its next hook
const dirty = new Set(); // components whose state has changed
let effects = []; // of what was just computed

function compute(instance) {
  instance.dirty = false;
  dirty.delete(instance);
  const outer = [current, position];
  [current, position] = [instance, 0];
  let content;
  try {
    const { type, props, children } = instance.node;
    content = type({ ...props, children });
  } finally {
    [current, position] = outer;
  }
  patchChildren(instance, flatten([content]));
}

function refresh(instance) {
  compute(instance);
  let host = instance.parent;
  while (!host.dom) host = host.parent;
  place(host.dom, host.parts.flatMap(doms));
}

let planned = false;
function plan(instance) {
  if (instance.dirty || instance.gone) return;
  instance.dirty = true;
  dirty.add(instance);
  if (planned) return;
  planned = true;
  queueMicrotask(flush);
}

export const options = { onError: (error) => reportError(error) };

function guarded(run) {
  try {
    run();
  } catch (error) {
    options.onError(error);
  }
}

function flush() {
  planned = false;
  // parents first: they may compute their children on the way
  for (const instance of [...dirty].sort((a, b) => a.depth - b.depth))
    if (instance.dirty && !instance.gone) guarded(() => refresh(instance));
  dirty.clear();
  runEffects();
}

function runEffects() {
  const ready = effects;
  effects = [];
  for (const { instance, hook, run } of ready) {
    if (instance.gone) continue;
    guarded(() => {
      hook.cleanup?.();
      hook.cleanup = run() ?? null;
    });
  }
}

const roots = new WeakMap();

/** Shows a node inside an element; null takes away what was shown there. */
export function render(node, container) {
  let root = roots.get(container);
  if (!root) {
    root = { node: { type: "root" }, dom: container, parts: [], hooks: [], depth: 0, svg: false };
    container.replaceChildren();
    roots.set(container, root);
  }
  guarded(() => patchChildren(root, flatten([node])));
  runEffects();
}

// ---- hooks: called in the same order each time a component is computed

function nextHook(make) {
  const { hooks } = current;
  if (position === hooks.length) hooks.push(make());
  return hooks[position++];
}
const differ = (a, b) => !a || !b || a.length !== b.length || a.some((x, i) => !Object.is(x, b[i]));

export function useState(initial) {
  const instance = current;
  const hook = nextHook(() => {
    const state = {
      value: typeof initial === "function" ? initial() : initial,
      set(next) {
        const value = typeof next === "function" ? next(state.value) : next;
        if (Object.is(value, state.value)) return;
        state.value = value;
        plan(instance);
      },
    };
    return state;
  });
  return [hook.value, hook.set];
}

export const useRef = (initial = null) => useState(() => ({ current: initial }))[0];

export function useMemo(make, inputs) {
  const hook = nextHook(() => ({}));
  if (differ(hook.inputs, inputs)) Object.assign(hook, { inputs, value: make() });
  return hook.value;
}

/** Runs after the page has changed, and what it returns runs before the next time and at the end. */
export function useEffect(run, inputs) {
  const instance = current;
  const hook = nextHook(() => ({}));
  if (!differ(hook.inputs, inputs)) return;
  hook.inputs = inputs;
  effects.push({ instance, hook, run });
}
