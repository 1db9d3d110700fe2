// The map of a plate, as a table that can be read, printed and looked at from afar.
import { h, nameLink, writeName } from "./dom.js";
import { armPath } from "./head.js";
import { moment, number, plural } from "./format.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
export const rowName = (i) =>
  i < 26 ? LETTERS[i] : LETTERS[Math.floor(i / 26) - 1] + LETTERS[i % 26];
const STATES = {
  open: "asked for",
  told: "told",
  counts: "told",
  suspect: "suspect",
  waiting: "waiting",
  failed: "failed",
  control: "control",
};

const title = (well) =>
  [
    well.well,
    well.arm ?? well.control ?? "empty",
    well.control ? "control" : null,
    well.ticket,
    well.value === null || well.value === undefined ? null : number(well.value, 6),
    well.arm ? (STATES[well.state] ?? well.state) : null,
  ]
    .filter(Boolean)
    .join(", ");

// plateMap(plate, {id, show, study}): show is "arm", "value" or "ticket", what stands in the wells.
export function plateMap(plate, { id, show = "arm", study = "" }) {
  const wells = new Map(plate.wells.map((well) => [well.well, well]));
  const values = plate.wells
    .map((w) => w.value)
    .filter((v) => v !== null && v !== undefined && Number.isFinite(v))
    .sort((a, b) => a - b);
  // The colour runs between the 2 % and the 98 % point, so that one slip does not wash out the
  // rest.
  const low = values[Math.floor(values.length * 0.02)],
    high = values[Math.ceil(values.length * 0.98) - 1];
  const part = (v) => (high > low ? Math.max(0, Math.min(1, (v - low) / (high - low))) : 0.5);
  const columns = Array.from({ length: plate.columns }, (_, j) => j + 1);

  function cell(i, j) {
    const well = wells.get(`${rowName(i)}${j}`);
    if (!well) return h("td", { class: "well is-none" }, h("span", { class: "unseen" }, "empty"));
    const known = well.value !== null && well.value !== undefined,
      name = well.arm ?? well.control;
    const shown =
      show === "value"
        ? known
          ? number(well.value)
          : ""
        : show === "ticket"
          ? (well.ticket ?? name)
          : name;
    const state = well.control ? "control" : well.state;
    return h(
      "td",
      {
        class: `well is-${state} ${known && show === "value" ? "heat" : ""}`,
        title: title(well),
        vars: known ? { "--v": part(well.value).toFixed(3) } : null,
      },
      h(
        "span",
        { class: "what" },
        show === "arm" && well.arm && id
          ? writeName(nameLink(), shown, armPath(id, well.arm))
          : shown,
      ),
      h("span", { class: "unseen" }, `, ${STATES[state] ?? state}`),
    );
  }
  const open = plate.wells.filter((w) => w.arm && w.state === "open").length;
  return h(
    "div",
    {
      class:
        `plate-map ` +
        `columns-${plate.columns > 24 ? "many" : plate.columns > 12 ? "some" : "few"}`,
    },
    h(
      "div",
      { class: "print-only plate-title" },
      h("b", {}, `${study}, plate ${plate.batch}`),
      ` ${plate.rows} × ${plate.columns}, printed ${moment(Date.now() / 1000)}`,
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Map of plate ${plate.batch}` },
      h(
        "table",
        {},
        h(
          "caption",
          { class: "unseen" },
          `Plate ${plate.batch}: ${plate.rows} rows and ${plate.columns} columns, ` +
            `${plural(open, "well")} without a value`,
        ),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            columns.map((j) => h("th", { scope: "col" }, j)),
          ),
        ),
        h(
          "tbody",
          {},
          Array.from({ length: plate.rows }, (_, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, rowName(i)),
              columns.map((j) => cell(i, j)),
            ),
          ),
        ),
      ),
    ),
    legend(),
  );
}

const legend = () =>
  h(
    "ul",
    { class: "plate-legend", "aria-label": "What the wells show" },
    [
      ["open", "asked for"],
      ["told", "told"],
      ["suspect", "suspect"],
      ["failed", "failed"],
      ["control", "control"],
      ["none", "empty"],
    ].map(([state, words]) =>
      h("li", {}, h("i", { class: `well is-${state}`, "aria-hidden": "true" }), words),
    ),
  );
