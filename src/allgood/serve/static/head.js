// What all pages of one study have on top: where we are, the study's name, and links to its other
// pages.
import { get } from "./api.js";
import { h, replace } from "./dom.js";

const PAGES = [
  ["", "Overview"],
  ["measure", "Measure"],
  ["certificate", "Certificate"],
  ["history", "History"],
];
export const studyPath = (id, page = "") => `#/studies/${id}${page ? `/${page}` : ""}`;
export const armPath = (id, arm) => studyPath(id, `arm/${encodeURIComponent(arm)}`);

// Adds the head to main and returns {study, head}: study is the answer of GET studies/{id}.
// current: "", "measure", "arm", "certificate" or "history".
export async function studyHead(main, id, current, signal) {
  const study = await get(`studies/${id}`, { signal });
  const links = PAGES.map(([page, words]) =>
    h("a", { href: studyPath(id, page), "aria-current": page === current ? "page" : null }, words),
  );
  const head = h(
    "div",
    { class: "study-head" },
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: "#/" }, "Studies"),
      " / ",
      current ? h("a", { href: studyPath(id) }, study.name) : h("span", {}, study.name),
    ),
    h("h1", {}, study.name),
    h("p", { class: "question" }, study.question),
    h("nav", { class: "tabs", "aria-label": "Pages of this study" }, links),
  );
  main.append(head);
  document.title = `${study.name} · allgood`;
  return { study, head };
}

// What every page of a study says when somebody has deleted it.
export function deleted(main) {
  replace(
    main,
    h(
      "div",
      { class: "notice", role: "alert" },
      h("h1", {}, "This study was deleted"),
      h("p", {}, h("a", { href: "#/" }, "To the studies")),
    ),
  );
}
