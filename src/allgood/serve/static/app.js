// The application: session, theme, header, and the page that an address shows.
import { loadSession, may, remove, sentenceOf, session } from "./lib/api.js";
import { announce, stored } from "./lib/browser.js";
import { closeDialogs } from "./lib/dialog.js";
import { html } from "./lib/html.js";
import { connection } from "./lib/live.js";
import { shortcut, showShortcuts } from "./lib/shortcuts.js";
import { options, render } from "./lib/view.js";
import { Loading } from "./lib/widgets.js";

// Pattern of the address after "#", module in pages/, title.
const ROUTES = [
  [/^\/?$/, "studies", "Studies"],
  [/^\/new$/, "new", "New study"],
  [/^\/explore$/, "explore", "Explore"],
  [/^\/studies\/(?<id>\d+)$/, "overview", "Study"],
  [/^\/studies\/(?<id>\d+)\/measure$/, "measure", "Measure"],
  [/^\/studies\/(?<id>\d+)\/arm\/(?<name>.+)$/, "arm", "Arm"],
  [/^\/studies\/(?<id>\d+)\/certificate$/, "certificate", "Certificate"],
  [/^\/studies\/(?<id>\d+)\/history$/, "history", "History"],
];

/** The page of an address: {page, title, params}; params has the named parts, and `query`. */
function route(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  for (const [pattern, page, title] of ROUTES) {
    const match = /** @type {RegExp} */ (pattern).exec(path);
    if (!match) continue;
    const params = { query: new URLSearchParams(query) };
    try {
      for (const [key, value] of Object.entries(match.groups ?? {}))
        params[key] = decodeURIComponent(value);
    } catch {
      continue; // a percent sign that stands for nothing
    }
    return { page, title, params };
  }
  return null;
}

// ---- header

const THEMES = { "": "System theme", light: "Light theme", dark: "Dark theme" };
const SIGNS = { "": "◐", light: "☀", dark: "☾" };
const ROLES = { read: "May read", measure: "May measure", manage: "May manage" };
const LIVE = {
  connected: ["Live", "The server tells this page of every change."],
  reconnecting: [
    "Reconnecting",
    "The connection is lost. What you see may be old; the page tries again by itself.",
  ],
};
const theme = () => document.documentElement.dataset.theme ?? "";

function nextTheme() {
  const names = Object.keys(THEMES);
  const name = names[(names.indexOf(theme()) + 1) % names.length];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  stored.set("theme", name);
  drawHeader();
  announce(THEMES[name]);
}

function Header({ page, live }) {
  const link = (path, words, is) =>
    html`<a href=${path} aria-current=${is ? "page" : null}>${words}</a>`;
  const icon = (title, label, sign, run) => html`
    <button type="button" class="plain icon" title=${title} aria-label=${label} onclick=${run}>${sign}</button>`;
  return html`
    <div class="inner">
      <a class="brand" href="#/"><img src="static/icon.svg" alt="" width="24" height="24" />allgood</a>
      ${
        session.role &&
        html`
          <nav aria-label="Main">
            ${link("#/", "Studies", page !== "explore")}${link("#/explore", "Explore", page === "explore")}
            <a href="docs">API</a>
          </nav>`
      }
      <div class="tools">
        <span class="live" data-state=${live} title=${LIVE[live]?.[1]}>
          ${LIVE[live] && html`<i aria-hidden="true" /><span>${LIVE[live][0]}</span>`}
        </span>
        ${session.role && session.needs_token && html`<span class="role">${ROLES[session.role]}</span>`}
        ${session.read_only && html`<span class="role">Read only</span>`}
        ${session.role && session.needs_token && html`<button type="button" class="plain" onclick=${logout}>Log out</button>`}
        ${icon(THEMES[theme()], `${THEMES[theme()]}, change`, SIGNS[theme()], nextTheme)}
        ${icon("Keyboard", "Keyboard shortcuts", "?", showShortcuts)}
      </div>
    </div>`;
}

let page = null,
  live = "off";
const drawHeader = () =>
  render(html`<${Header} page=${page} live=${live} />`, document.getElementById("top"));

function showLive() {
  if (connection() === live) return;
  live = connection();
  drawHeader();
  if (live === "reconnecting") announce(LIVE[live][1]);
}

// ---- pages

const main = document.getElementById("main");
const GONE = { detail: "There is no such page. Perhaps the address was cut off." };
const MIXED = {
  detail: "A part of this page could not be loaded. Is the server running? Then load the page again.",
};

function showProblem(error) {
  if (error.status === 401) return; // the change of the session shows the login
  if (!error.detail) console.error(error);
  const again = () => location.reload();
  const content = html`
    <div class="notice bad" role="alert" key="problem">
      <h1>This cannot be shown</h1>
      <p>${sentenceOf(error)}</p>
      <p><button type="button" onclick=${again}>Try again</button> <a href="#/">To the studies</a></p>
    </div>`;
  render(null, main); // what has failed is made anew
  render(content, main);
}

let visit = 0; // counts, so that a page that comes late is not shown
async function show() {
  const here = route(location.hash);
  const first = visit++ === 0;
  const number = visit;
  page = session.role === null ? "login" : (here?.page ?? "none");
  document.title = `${session.role === null ? "Log in" : (here?.title ?? "Not found")} · allgood`;
  drawHeader();
  main.className = `page-${page}`;
  render(html`<${Loading} key="loading" />`, main);
  if (!first) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  if (page === "none") return showProblem(GONE);
  try {
    const { default: Page } = await import(`./pages/${page}.js`);
    if (number !== visit) return;
    render(html`<${Page} key=${location.hash} ...${here?.params ?? { query: new URLSearchParams() }} />`, main);
    announce(document.title.replace(" · allgood", ""));
  } catch (error) {
    console.error(error);
    if (number === visit) showProblem(MIXED);
  }
}

async function logout() {
  await remove("session");
  await enter();
}

// Asks who we are, and shows the page or the login, which reports "allgood:login".
async function enter() {
  try {
    await loadSession();
  } catch (error) {
    page = "none";
    drawHeader();
    showProblem(error);
    return;
  }
  await show();
}

options.onError = showProblem;
addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  closeDialogs();
  show();
});
addEventListener("allgood:session", show);
addEventListener("allgood:login", enter);
addEventListener("allgood:live", showLive);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

const go = (path) => () => {
  location.hash = path;
};
const inStudy = (path) => () => {
  const id = /^#\/studies\/(\d+)/.exec(location.hash)?.[1];
  if (id) location.hash = `#/studies/${id}${path}`;
};
const search = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"))?.focus();
shortcut("?", "Show these keys", showShortcuts);
shortcut("/", "Search", search);
shortcut("g s", "Go to the studies", go("#/"));
shortcut("g e", "Go to Explore", go("#/explore"));
shortcut("n", "New study", () => may("manage") && go("#/new")());
shortcut("o", "Of a study: overview", inStudy(""));
shortcut("m", "Of a study: measure", inStudy("/measure"));
shortcut("c", "Of a study: certificate", inStudy("/certificate"));
shortcut("h", "Of a study: history", inStudy("/history"));
shortcut("t", "Change the theme", nextTheme);
enter();
