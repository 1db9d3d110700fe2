// The list of studies, live.
import { get, may, session } from "../api.js";
import { labelBar, sparkline } from "../charts.js";
import { announce, debounce, h, replace, since, throttle } from "../dom.js";
import { count, plural } from "../format.js";
import { studyPath } from "../head.js";
import { watch } from "../live.js";

const PAGE = 50;

function card(one) {
  if (one.problem) {
    return h(
      "li",
      { class: "card study-card" },
      h("div", { class: "what" }, h("h2", {}, one.name), h("p", { class: "error" }, one.problem)),
    );
  }
  if (!one.outcome) {
    return h(
      "li",
      { class: "card study-card" },
      h(
        "div",
        { class: "what" },
        h("h2", {}, h("a", { href: studyPath(one.id), data: { id: one.id } }, one.name)),
        h("p", { class: "soft" }, `${plural(one.events, "event")} …`),
      ),
    );
  }
  const todo = [
    one.suspects && `${plural(one.suspects, "suspect value")}`,
    one.waiting && `${plural(one.waiting, "value")} waiting`,
  ].filter(Boolean);
  const limit = one.budget === null ? "" : ` of ${count(one.budget)}`;
  return h(
    "li",
    { class: "card study-card" },
    h(
      "div",
      { class: "what" },
      h("h2", {}, h("a", { href: studyPath(one.id), data: { id: one.id } }, one.name)),
      h("p", { class: "soft" }, one.question),
      h(
        "p",
        { class: "row tags" },
        h("span", { class: `outcome ${one.outcome.split(" ")[0]}` }, one.outcome),
        todo.map((words) => h("span", { class: "tag warn" }, words)),
      ),
      one.warnings.map((words) => h("p", { class: "error" }, words)),
    ),
    labelBar(one),
    h("div", { class: "curve" }, sparkline(one.spark, one.arms)),
    h(
      "dl",
      { class: "sums" },
      h("div", {}, h("dt", {}, "Measurements"), h("dd", {}, count(one.measurements) + limit)),
      h("div", {}, h("dt", {}, "Still to come"), h("dd", {}, count(one.pending))),
      h("div", {}, h("dt", {}, "Last activity"), h("dd", {}, since(one.last))),
    ),
  );
}

function nothing(searched) {
  if (searched)
    return h("div", { class: "card empty" }, h("p", {}, "No study has this in its name."));
  return h(
    "div",
    { class: "card empty" },
    h("h2", {}, "No study yet"),
    h(
      "p",
      {},
      "A study asks which arms to measure next, is told what came out, and says at any time " +
        "which arms are certified good or bad.",
    ),
    may("manage") && h("p", {}, h("a", { class: "button primary", href: "#/new" }, "New study")),
  );
}

export async function show(main, params, signal) {
  let wanted = PAGE,
    known = null;
  const list = h("ul", { class: "studies" }),
    more = h("div", { class: "row more" });
  const problem = h("p", { class: "error", role: "alert" });
  const search = h("input", {
    type: "search",
    placeholder: "Search by name",
    "aria-label": "Search studies by name",
    value: params.query.get("name") ?? "",
    data: { search: "" },
  });

  async function load() {
    const name = search.value.trim();
    let studies = [],
      answer = { more: true };
    while (answer.more && studies.length < wanted) {
      const after = studies.at(-1)?.id;
      const query = new URLSearchParams({
        limit: Math.min(PAGE, wanted - studies.length),
        ...(name && { search: name }),
        ...(after && { after }),
      });
      answer = await get(`studies?${query}`, { signal });
      studies = studies.concat(answer.studies);
    }
    problem.textContent = "";
    draw(studies, answer.more, name);
    // The list itself is quick, however large the studies are; the rest comes one by one.
    for (const [i, study] of studies.entries()) {
      if (study.outcome || signal.aborted) continue;
      try {
        studies[i] = await get(`studies/${study.id}/summary`, { signal });
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 404) continue;
        studies[i] = { ...study, problem: error.detail ?? String(error) };
      }
      draw(studies, answer.more, name);
    }
  }
  function draw(studies, isMore, name) {
    const text = JSON.stringify(studies);
    if (text === known) return;
    known = text;
    const focused = document.activeElement?.dataset?.id;
    replace(list, studies.map(card));
    if (focused) list.querySelector(`[data-id="${focused}"]`)?.focus();
    list.hidden = !studies.length;
    replace(empty, studies.length ? null : nothing(name));
    replace(
      more,
      isMore &&
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              wanted += PAGE;
              again();
            },
          },
          "Show more",
        ),
    );
  }
  let busy = false,
    dirty = false;
  async function again() {
    if (busy) {
      dirty = true;
      return;
    }
    busy = true;
    try {
      do {
        dirty = false;
        await load();
      } while (dirty && !signal.aborted);
    } catch (error) {
      if (!signal.aborted) problem.textContent = error.detail ?? String(error);
    } finally {
      busy = false;
    }
  }
  const typed = debounce(async () => {
    await again();
    if (!signal.aborted) announce(`${plural(list.children.length, "study", "studies")} shown.`);
  }, 200);
  search.addEventListener("input", typed);
  signal.addEventListener("abort", typed.stop);

  const empty = h("div");
  main.append(
    h(
      "div",
      { class: "page-head" },
      h(
        "div",
        {},
        h("h1", {}, "Studies"),
        h(
          "p",
          { class: "question" },
          "In the database ",
          h("span", { class: "mono" }, session.database),
          ".",
        ),
      ),
      h(
        "div",
        { class: "row grow" },
        h("div", { class: "search" }, search),
        may("manage") && h("a", { class: "button primary", href: "#/new" }, "New study"),
      ),
    ),
    problem,
    list,
    empty,
    more,
  );
  await load();
  const changed = throttle(again, 1000);
  signal.addEventListener("abort", changed.stop);
  watch(null, changed, { signal });
}
