// The HTTP interface, as openapi.json describes it, to be read by people.
import { debounce, h, replace } from "./dom.js";
import { plural } from "./format.js";
import { toast } from "./dialog.js";

const GROUPS = [
  [
    "Server and session",
    "Who you are, and whether the server is there.",
    (path) => /^\/v1\/(health|session)/.test(path),
  ],
  [
    "Studies",
    "List them, begin one, bring one in, take one away.",
    (path) => /^\/v1\/(studies(\/import|\/\{id\})?|names|live)$/.test(path),
  ],
  [
    "Look",
    "What is certain, what happened, what is open. Looking changes nothing.",
    (path, method) => method === "get" && path.startsWith("/v1/studies/"),
  ],
  [
    "Measure",
    "Ask what to measure, and tell what came out.",
    (path) => /\/(ask|preview|tell|counts|unrequested|fail|confirm|notes)$/.test(path),
  ],
  [
    "Manage",
    "What needs a person who answers for the study.",
    (path) => /\/(correct|drop|extend|arms)$/.test(path),
  ],
  ["Without a study", "Plan, explore, and check certificates.", () => true],
];
// ---- schemas in words

function resolve(schema, root, document_) {
  let at = schema;
  for (let depth = 0; at?.$ref && depth < 20; depth++) {
    const path = at.$ref.replace(/^#\//, "").split("/");
    const find = (from) =>
      path.reduce((o, key) => o?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], from);
    at = find(root) ?? find(document_);
  }
  return at ?? {};
}

// "number, or a list of numbers, or null"
function kind(schema, root, document_) {
  const s = resolve(schema, root, document_);
  const many = s.anyOf ?? s.oneOf;
  if (many) return [...new Set(many.map((one) => kind(one, root, document_)))].join(", or ");
  if (s.const !== undefined) return JSON.stringify(s.const);
  if (s.enum) return s.enum.map((v) => JSON.stringify(v)).join(", or ");
  if (s.type === "array") return `list of ${kind(s.items ?? {}, root, document_)}`;
  if (s.properties) return s.title;
  if (s.type === "object")
    return typeof s.additionalProperties === "object"
      ? `names, each with ${kind(s.additionalProperties, root, document_)}`
      : "object";
  return (
    {
      integer: "whole number",
      number: "number",
      string: "text",
      boolean: "true or false",
      null: "null",
    }[s.type] ?? "anything"
  );
}
function limits(schema, root, document_) {
  const s = resolve(schema, root, document_),
    parts = (s.anyOf ?? [s]).map((one) => resolve(one, root, document_)),
    said = [];
  for (const p of parts) {
    if (p.minimum !== undefined) said.push(`from ${p.minimum}`);
    if (p.exclusiveMinimum !== undefined) said.push(`above ${p.exclusiveMinimum}`);
    if (p.maximum !== undefined) said.push(`to ${p.maximum}`);
    if (p.exclusiveMaximum !== undefined) said.push(`below ${p.exclusiveMaximum}`);
    if (p.maxLength !== undefined) said.push(`at most ${p.maxLength} characters`);
    if (p.maxItems !== undefined) said.push(`at most ${p.maxItems}`);
  }
  return [...new Set(said)].join(", ");
}

const words = (described) => (described.description ?? "").replaceAll("`", "");
const must = () => h("span", { class: "must" }, "required");
const shown = (value) => (value === undefined ? "" : JSON.stringify(value));

function fieldsTable(caption, rows) {
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "data fields" },
      h("caption", {}, caption),
      h(
        "thead",
        { class: "unseen" },
        h(
          "tr",
          {},
          ["Name", "Kind", "What it is"].map((w) => h("th", { scope: "col" }, w)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            h(
              "td",
              {},
              h("code", {}, row.name),
              row.mark,
            ),
            h("td", { class: "soft" }, row.kind),
            h(
              "td",
              {},
              row.text,
              row.limits
                ? h("span", { class: "soft" }, row.text ? ` (${row.limits})` : row.limits)
                : null,
              row.otherwise !== undefined && row.otherwise !== "null"
                ? h("span", { class: "soft" }, ` Otherwise ${row.otherwise}.`)
                : null,
            ),
          ),
        ),
      ),
    ),
  );
}

function properties(schema, root, document_, prefix = "", depth = 0) {
  const s = resolve(schema, root, document_),
    rows = [];
  for (const [name, given] of Object.entries(s.properties ?? {})) {
    const p = resolve(given, root, document_);
    rows.push({
      name: prefix + name,
      mark: (s.required ?? []).includes(name) ? must() : null,
      kind: kind(given, root, document_),
      text: given.description ?? p.description ?? "",
      limits: limits(given, root, document_),
      otherwise: given.default === undefined ? undefined : shown(given.default),
    });
    const inner = [p, ...(p.anyOf ?? []), p.items ?? {}]
      .map((one) => resolve(one, root, document_))
      .find((one) => one.properties);
    if (inner && depth < 2)
      rows.push(
        ...properties(
          inner,
          root,
          document_,
          `${prefix}${name}${p.type === "array" ? "[]" : ""}.`,
          depth + 1,
        ),
      );
  }
  return rows;
}

// The kinds of objects in a schema, each once, those inside others included.
function kinds(schema, root, document_, found = new Map()) {
  const s = resolve(schema, root, document_);
  if (s.properties && found.has(s.title)) return found;
  if (s.properties) found.set(s.title, s);
  const parts = [
    ...Object.values(s.properties ?? {}),
    ...(s.anyOf ?? []),
    s.items,
    s.additionalProperties,
  ];
  for (const part of parts)
    if (part && typeof part === "object") kinds(part, root, document_, found);
  return found;
}

// The fields of an answer; those of the objects inside it are folded.
function answerFields(schema, document_) {
  const [[, whole], ...inside] = kinds(schema, schema, document_);
  const table = (caption, s) => {
    const rows = Object.entries(s.properties).map(([name, given]) => ({
      name,
      mark: (s.required ?? []).includes(name) ? null : h("span", { class: "may" }, "not always"),
      kind: kind(given, schema, document_),
      text: words(given),
    }));
    return fieldsTable(caption, rows);
  };
  if (!Object.keys(whole.properties).length) return null;
  return h(
    "div",
    { class: "answer" },
    table("Answer, as JSON", whole),
    inside.map(([title, s]) =>
      h(
        "details",
        {},
        h("summary", {}, h("b", {}, title), h("span", { class: "soft" }, ` ${words(s)}`)),
        table(h("span", { class: "unseen" }, title), s),
      ),
    ),
  );
}

// ---- one operation

const base = () => new URL(".", location.href).href.replace(/\/$/, "");
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(method, path, operation, document_) {
  const way = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  const place = path.replace("{id}", "1").replace("{batch}", "1");
  const lines = [
    `curl ${way}${quoted(base() + place)}`,
    "-H 'Authorization: Bearer TOKEN'",
  ];
  if ((operation.parameters ?? []).some((p) => p.name === "Idempotency-Key"))
    lines.push('-H "Idempotency-Key: $(uuidgen)"');
  const content = operation.requestBody?.content;
  if (content?.["application/json"]) {
    const { schema } = content["application/json"];
    const [body] = resolve(schema, schema, document_).examples;
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  } else if (content)
    lines.push(`-H 'Content-Type: ${Object.keys(content)[0]}'`, "--data-binary @study.jsonl");
  return lines.join(" \\\n  ");
}

function operationBox(method, path, operation, document_) {
  const id = `${method}-${path.replace(/[^a-z]+/gi, "-").replace(/-$/, "")}`;
  const wordsOf = (p) => ({
    name: p.name,
    mark: p.required ? must() : null,
    kind: kind(p.schema, p.schema, document_),
    text: p.description ?? "",
    limits: limits(p.schema, p.schema, document_),
    otherwise: p.schema?.default === undefined ? undefined : shown(p.schema.default),
  });
  const by = (where) => (operation.parameters ?? []).filter((p) => p.in === where).map(wordsOf);
  const command = curl(method, path, operation, document_);
  const body = Object.entries(operation.requestBody?.content ?? {}),
    json = operation.requestBody?.content?.["application/json"]?.schema;
  const done = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))[1],
    answer = done.content?.["application/json"]?.schema;
  const others = body.map(([type]) => type).filter((type) => type !== "application/json");
  const content = () => [
    operation.description && h("p", {}, operation.description),
    ...[
      ["path", "In the address"],
      ["query", "After the question mark"],
      ["header", "Headers"],
    ].map(([where, caption]) => {
      const rows = by(where);
      return rows.length ? fieldsTable(caption, rows) : null;
    }),
    json && fieldsTable("Body, as JSON", properties(json, json, document_)),
    others.length
      ? h(
          "p",
          { class: "small" },
          json ? "The body may also be " : "The body is ",
          others.map((type, i) => [i ? " or " : "", h("code", {}, type)]),
          json ? ", with the options after the question mark." : ".",
        )
      : null,
    h(
      "table",
      { class: "data fields answers" },
      h("caption", {}, "Answers"),
      h(
        "tbody",
        {},
        Object.entries(operation.responses ?? {}).map(([status, answer]) =>
          h(
            "tr",
            {},
            h("td", {}, h("code", {}, status)),
            h(
              "td",
              {},
              answer.description === "Successful Response"
                ? "Done."
                : words(answer),
            ),
            h("td", { class: "soft" }, Object.keys(answer.content ?? {}).join(", ")),
          ),
        ),
      ),
    ),
    answer && answerFields(answer, document_),
    h(
      "div",
      { class: "curl" },
      h("pre", { tabindex: 0 }, h("code", {}, command)),
      h(
        "button",
        {
          type: "button",
          class: "small",
          onclick: async () => {
            try {
              await navigator.clipboard.writeText(command);
              toast("The command is in the clipboard.");
            } catch {
              toast("Mark the command and copy it with the keyboard.");
            }
          },
        },
        "Copy",
      ),
    ),
  ];
  const box = h(
    "details",
    {
      class: "operation",
      id,
      data: { find: `${method} ${path} ${operation.summary ?? ""}`.toLowerCase() },
      ontoggle: () => {
        if (box.open && box.children.length === 1)
          box.append(h("div", { class: "inside" }, content()));
      },
    },
    h(
      "summary",
      {},
      h("span", { class: `method ${method}` }, method.toUpperCase()),
      h("code", { class: "path" }, path),
      h("span", { class: "soft" }, operation.summary ?? ""),
    ),
  );
  return box;
}

// ---- the page

async function show() {
  const main = document.getElementById("main");
  let description;
  try {
    const response = await fetch("openapi.json", { credentials: "same-origin" });
    if (!response.ok)
      throw new Error(
        response.status === 401
          ? "Log in first, on the page of the studies."
          : `The server answered with ${response.status}.`,
      );
    description = await response.json();
  } catch (problem) {
    replace(
      main,
      h(
        "div",
        { class: "notice bad", role: "alert" },
        h("h1", {}, "The description cannot be shown"),
        h("p", {}, problem.message),
        h("p", {}, h("a", { href: "./" }, "To the studies")),
      ),
    );
    return;
  }
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const groups = GROUPS.map(([name, words]) => ({ name, words, list: [] }));
  for (const one of operations)
    groups[GROUPS.findIndex(([, , fits]) => fits(one.path, one.method))].list.push(one);
  const filled = groups.filter((group) => group.list.length),
    slug = (name) => name.toLowerCase().replaceAll(" ", "-");
  const said = h("p", { class: "soft small", role: "status" }, plural(operations.length, "route"));
  const find = debounce(() => {
    const wanted = search.value.trim().toLowerCase();
    let n = 0;
    for (const section of main.querySelectorAll(".group")) {
      let any = false;
      for (const box of section.querySelectorAll(".operation")) {
        box.hidden = !box.dataset.find.includes(wanted);
        if (!box.hidden) {
          any = true;
          n += 1;
        }
      }
      section.hidden = !any;
    }
    said.textContent = plural(n, "route");
  }, 100);
  const search = h("input", {
    type: "search",
    placeholder: "Find a route",
    "aria-label": "Find a route",
    oninput: find,
  });
  replace(
    main,
    h(
      "div",
      { class: "docs" },
      h(
        "aside",
        {},
        h(
          "nav",
          { "aria-label": "Groups of routes" },
          search,
          said,
          filled.map((group) => h("a", { href: `#${slug(group.name)}` }, group.name)),
          h("a", { class: "soft", href: "openapi.json" }, "openapi.json"),
        ),
      ),
      h(
        "div",
        {},
        h("h1", {}, "HTTP interface"),
        h(
          "p",
          { class: "question" },
          `Version ${description.info.version}. ${description.info.description ?? ""}`,
        ),
        h(
          "div",
          { class: "intro" },
          h(
            "p",
            {},
            h("b", {}, "Who may what. "),
            "Where the server asks for a token, send it as ",
            h("code", {}, "Authorization: Bearer TOKEN"),
            ". A token lets one read, measure or manage.",
          ),
          h(
            "p",
            {},
            h("b", {}, "Writes are safe to repeat. "),
            "Send a header ",
            h("code", {}, "Idempotency-Key"),
            " of your choice. The same key with the same body gives the same answer and " +
              "is done once; with another body it is refused.",
          ),
          h(
            "p",
            {},
            h("b", {}, "Errors "),
            "come as ",
            h("code", {}, "application/problem+json"),
            "; ",
            h("code", {}, "detail"),
            " is a sentence that says what is wrong. Times are seconds since 1970; " +
              "numbers that are not finite are null.",
          ),
        ),
        filled.map((group) =>
          h(
            "section",
            {
              class: "group",
              id: slug(group.name),
              "aria-labelledby": `${slug(group.name)}-title`,
            },
            h("h2", { id: `${slug(group.name)}-title` }, group.name),
            h("p", { class: "soft" }, group.words),
            group.list.map(({ path, method, operation }) =>
              operationBox(method, path, operation, description),
            ),
          ),
        ),
      ),
    ),
  );
  const here = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (here) {
    if (here.localName === "details") here.open = true;
    here.scrollIntoView();
  }
}
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
show();
