// Markup in JavaScript: html`<p class=${kind} ...${more}>Hello <${Name} key=${id} /></p>` gives nodes
// for view.js. Values are text, nodes, lists of them, or nothing (null, false); markup in a value
// stays text. A component closes with <//>. White space with a line break in it disappears at the edges of a text.
import { h } from "./view.js";

const templates = new WeakMap(); // the parsed form of each template, by its strings

/** @returns {any} */
export function html(strings, ...values) {
  let template = templates.get(strings);
  if (!template) templates.set(strings, (template = parse(strings)));
  const nodes = template.children.map((child) => build(child, values));
  return nodes.length === 1 ? nodes[0] : nodes;
}

// A part of a template is a text, or {slot: number of a value}, or {tag, props, children}.
function build(part, values) {
  if (typeof part === "string") return part;
  if ("slot" in part) return values[part.slot];
  const props = {};
  for (const [name, value] of part.props) {
    if (name === null) Object.assign(props, values[value[0].slot]);
    else if (value === true) props[name] = true;
    else if (value.length === 1) props[name] = build(value[0], values);
    else props[name] = value.map((piece) => build(piece, values) ?? "").join("");
  }
  const tag = typeof part.tag === "string" ? part.tag : values[part.tag.slot];
  return h(tag, props, ...part.children.map((child) => build(child, values)));
}

// Each value stands as one NUL between the strings.
const TOKEN = /<(\/?)(\0|[a-zA-Z][\w-]*|\/)?((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>|([^<]+)/gy;
const PROP = /\.\.\.\0|([^\s=/]+)(?:=("[^"]*"|'[^']*'|[^\s]+))?/g;

function parse(strings) {
  const text = strings.join("\0");
  const root = { children: [] };
  const open = [root];
  let slot = 0;
  const pieces = (part) =>
    part
      .split(/(\0)/)
      .filter((piece) => piece !== "")
      .map((piece) => (piece === "\0" ? { slot: slot++ } : piece));
  let end = 0;
  TOKEN.lastIndex = 0;
  for (let match; (match = TOKEN.exec(text)); end = TOKEN.lastIndex) {
    const [, closing, tag, props, selfClosing, content] = match;
    if (content !== undefined) open.at(-1).children.push(...pieces(trimmed(content)));
    else if (closing) {
      open.pop();
      if (tag === "\0") slot++;
    } else {
      const element = { tag: tag === "\0" ? { slot: slot++ } : tag, props: [], children: [] };
      for (const [whole, name, value] of props.matchAll(PROP))
        element.props.push(
          whole === "...\0"
            ? [null, [{ slot: slot++ }]]
            : [name, value === undefined ? true : pieces(value.replace(/^(["'])(.*)\1$/s, "$2"))],
        );
      open.at(-1).children.push(element);
      if (!selfClosing) open.push(element);
    }
  }
  if (end !== text.length || open.length !== 1)
    throw new SyntaxError(`This template has an element that is not closed: ${text.slice(0, 200)}`);
  return root;
}

const trimmed = (text) =>
  text.replace(/^\s*\n\s*|\s*\n\s*$/g, "").replace(/\s*\n\s*/g, " ");
