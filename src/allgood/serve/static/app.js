// Header, session, theme, and which page is shown.
import { LOST, aborted, loadSession, may, remove, session } from "./api.js";
import { announce, h, replace, stored, tickTimes } from "./dom.js";
import { state } from "./live.js";
import { shortcut, showShortcuts } from "./shortcuts.js";

// Pattern of the address after "#", module in pages/, title.
const ROUTES = [
  [/^\/?$/, "studies", "Studies"],
  [/^\/new$/, "new", "New study"],
  [/^\/explore$/, "explore", "Explore"],
  [/^\/studies\/(?<id>\d+)$/, "study", "Study"],
  [/^\/studies\/(?<id>\d+)\/measure$/, "measure", "Measure"],
  [/^\/studies\/(?<id>\d+)\/arm\/(?<name>.+)$/, "arm", "Arm"],
  [/^\/studies\/(?<id>\d+)\/certificate$/, "certificate", "Certificate"],
  [/^\/studies\/(?<id>\d+)\/history$/, "history", "History"],
];

const main = document.getElementById("main");
let controller = new AbortController();
let shown = null;

// The page of an address: {page, title, params}; params has the named parts, decoded, and `query`.
function route(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  for (const [pattern, page, title] of ROUTES) {
    const match = pattern.exec(path);
    if (!match) continue;
    const params = { query: new URLSearchParams(query) };
    try {
      for (const [key, value] of Object.entries(match.groups ?? {}))
        params[key] = decodeURIComponent(value);
    } catch {
      continue;
    } // a percent sign that stands for nothing
    return { page, title, params };
  }
  return null;
}

function problem(error, again = show) {
  const words = error.detail ?? `This page failed: ${error.message}`;
  if (!error.detail) console.error(error);
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("h1", {}, "This cannot be shown"),
    h("p", {}, words),
    h(
      "p",
      {},
      h("button", { type: "button", onclick: again }, "Try again"),
      " ",
      h("a", { href: "#/" }, "To the studies"),
    ),
  );
}

async function show() {
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  const here = route(location.hash);
  const page = session.role === null ? "login" : here?.page;
  document.title = `${session.role === null ? "Log in" : (here?.title ?? "Not found")} · allgood`;
  header(page);
  replace(main);
  main.className = `page-${page ?? "none"}`;
  main.setAttribute("aria-busy", "true");
  if (shown !== null) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  shown = location.hash;
  try {
    if (!page)
      throw Object.assign(new Error(), {
        detail: "There is no such page. Perhaps the address was cut off.",
      });
    const module = await import(`./pages/${page}.js`).catch((error) => {
      console.error(error);
      throw Object.assign(new Error(), { detail: LOST });
    });
    if (signal.aborted) return;
    await module.show(main, here?.params ?? { query: new URLSearchParams() }, signal);
    if (!signal.aborted) announce(document.title.replace(" · allgood", ""));
  } catch (error) {
    if (signal.aborted || aborted(error)) return;
    if (error.status === 401) return; // the change of the session shows the login
    replace(main, problem(error));
  } finally {
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
}

const THEMES = { "": "System theme", light: "Light theme", dark: "Dark theme" };
const SIGNS = { "": "◐", light: "☀", dark: "☾" };
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  stored.set("theme", theme);
  header();
  announce(THEMES[theme]);
}
const theme = () => document.documentElement.dataset.theme ?? "";
function nextTheme() {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(theme()) + 1) % names.length]);
}

let current = null;
function header(page = current) {
  current = page;
  const focused = document.activeElement?.dataset?.part;
  const link = (path, words, pages) =>
    h("a", { href: path, "aria-current": pages.includes(page) ? "page" : null }, words);
  const role = { read: "May read", measure: "May measure", manage: "May manage" }[session.role];
  replace(
    document.getElementById("top"),
    h(
      "div",
      { class: "inner" },
      h(
        "a",
        { class: "brand", href: "#/" },
        h("img", { src: "static/icon.svg", alt: "", width: 24, height: 24 }),
        "allgood",
      ),
      session.role &&
        h(
          "nav",
          { "aria-label": "Main" },
          link("#/", "Studies", [
            "studies",
            "new",
            "study",
            "measure",
            "arm",
            "certificate",
            "history",
          ]),
          link("#/explore", "Explore", ["explore"]),
          h("a", { href: "docs" }, "API"),
        ),
      h(
        "div",
        { class: "tools" },
        live,
        session.role && session.needs_token && h("span", { class: "role" }, role),
        session.read_only && h("span", { class: "role" }, "Read only"),
        session.role &&
          session.needs_token &&
          h("button", { type: "button", class: "plain", onclick: logout }, "Log out"),
        h(
          "button",
          {
            type: "button",
            class: "plain icon",
            data: { part: "theme" },
            onclick: nextTheme,
            title: THEMES[theme()],
            "aria-label": `${THEMES[theme()]}, change`,
          },
          SIGNS[theme()],
        ),
        h(
          "button",
          {
            type: "button",
            class: "plain icon",
            data: { part: "keys" },
            onclick: showShortcuts,
            title: "Keyboard",
            "aria-label": "Keyboard shortcuts",
          },
          "?",
        ),
      ),
    ),
  );
  if (focused) document.querySelector(`[data-part="${focused}"]`)?.focus();
}

const live = h("span", { class: "live" });
function showLive() {
  const now = state();
  if (live.dataset.state === now) return;
  live.dataset.state = now;
  live.title = {
    off: "",
    connected: "The server tells this page of every change.",
    reconnecting:
      "The connection is lost. What you see may be old; the page tries again by itself.",
  }[now];
  replace(
    live,
    now === "off"
      ? null
      : [
          h("i", { "aria-hidden": "true" }),
          h("span", {}, now === "connected" ? "Live" : "Reconnecting"),
        ],
  );
  if (now === "reconnecting") announce("The connection is lost. Trying again.");
}

async function logout() {
  await remove("session");
  await enter();
}

// Asks who we are, and shows the page or the login. The login page calls it by the event
// "allgood:login".
async function enter() {
  try {
    await loadSession();
  } catch (error) {
    header("");
    replace(main, problem(error, enter));
    return;
  }
  await show();
}

window.addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  for (const box of document.querySelectorAll("dialog[open]")) box.close(); // it is of the old page
  show();
});
window.addEventListener("allgood:session", show);
window.addEventListener("allgood:login", enter);
window.addEventListener("allgood:live", showLive);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

setInterval(tickTimes, 10_000);

const go = (path) => () => {
  location.hash = path;
};
const inStudy = (page) => () => {
  const id = /^#\/studies\/(\d+)/.exec(location.hash)?.[1];
  if (id) location.hash = `#/studies/${id}${page}`;
};
shortcut("?", "Show these keys", showShortcuts);
shortcut("/", "Search", () => document.querySelector("[data-search]")?.focus());
shortcut("g s", "Go to the studies", go("#/"));
shortcut("g e", "Go to Explore", go("#/explore"));
shortcut("n", "New study", () => {
  if (may("manage")) location.hash = "#/new";
});
shortcut("o", "Of a study: overview", inStudy(""));
shortcut("m", "Of a study: measure", inStudy("/measure"));
shortcut("c", "Of a study: certificate", inStudy("/certificate"));
shortcut("h", "Of a study: history", inStudy("/history"));
shortcut("t", "Change the theme", nextTheme);
enter();
