// What people change in a study, each in a box over the page: confirm, correct, withdraw, fail, add
// a value or a note, drop an arm and restore it. Each function resolves with the server's answer, or
// with null if the box was closed; then nothing was changed.
import { Problem, post, session } from "./api.js";
import { stored } from "./browser.js";
import { askFor, toast } from "./dialog.js";
import { number, plural } from "./format.js";

/** Who uses this browser, for the history; nothing if nobody said so. */
export const client = () => stored.get("client") || undefined;
export const setClient = (name) => stored.set("client", name.trim());

// The name is asked for once, and not of people whose token has one.
const whoField = () =>
  !session.needs_token && stored.get("client") === null
    ? [{ name: "client", label: "Your name", prose: true, hint: "For the history; asked for once." }]
    : [];
const reasonField = { name: "reason", label: "Reason", required: true, prose: true };
const forGood = { ...reasonField, hint: "It stands in the history for good." };

/**
 * Asks in a box, and posts what body(values) gives to studies/{id}/{path}, with the name of who does
 * it. told(answer) is the sentence that is shown at the end. The other options are those of askFor.
 */
export async function change(id, path, { body, told = (answer) => answer.consequence, ...box }) {
  const run = ({ client: name, ...values }) => {
    const who = name === undefined ? client() : name || undefined;
    return post(`studies/${id}/${path}`, { ...body(values), client: who }).then((answer) => {
      if (name !== undefined) setClient(name);
      if (answer.ok === false) throw new Problem(refusal(answer));
      return answer;
    });
  };
  const answer = await askFor({ ...box, fields: [...(box.fields ?? []), ...whoField()], run });
  if (answer) toast(told(answer));
  return answer;
}

// The first sentence of a receipt that says why a row was refused.
const refusal = ({ rows }) => rows.find((row) => row.message)?.message ?? "The server refused it.";

const isCounts = ({ n = 1, period = null }) => n > 1 || period !== null;
const told = (value) =>
  isCounts(value)
    ? `a sum of ${number(value.value, 8)} in ${plural(value.n, "measurement")}`
    : number(value.value, 8);

/** Corrects a value: {ticket, arm, value}, and of counts {n, period, scatter}. right: a suggestion. */
export function correctValue(id, value, right = "") {
  const decimal = { required: true, inputmode: "decimal" };
  const fields = isCounts(value)
    ? [
        { name: "n", label: "Number of measurements", value: value.n, required: true },
        { name: "sum", label: "Right sum", ...decimal },
        value.scatter > 0 && { name: "sd", label: "Right standard deviation", ...decimal },
      ]
    : [{ name: "value", label: "Right value", value: right, ...decimal }];
  const known = value.value === undefined ? "has a value" : `was told as ${told(value)}`;
  return change(id, "correct", {
    title: "Correct a value",
    text: `${value.ticket} of ${value.arm} ${known}. The old value stays in the history.`,
    fields: [...fields.filter(Boolean), forGood],
    action: "Correct",
    body: ({ reason, ...numbers }) => ({
      measurement: value.ticket,
      value: isCounts(value) ? numbers : numbers.value,
      reason,
    }),
  });
}

/** Lets a suspect value count: {ticket, arm, value, message}. */
export const confirmValue = (id, value) =>
  change(id, "confirm", {
    title: "Confirm a value",
    text: [
      value.message ?? `${value.ticket} of ${value.arm}: ${told(value)}.`,
      "If you confirm it, it counts. Look at the instrument's record, not at the verdict: to confirm " +
        "a value because one likes it voids the guarantee.",
    ],
    fields: [forGood],
    action: "Confirm",
    body: ({ reason }) => ({ ticket: value.ticket, reason }),
  });

/**
 * Takes values back, so that they do not count. what: {tickets}, or {batch} and perhaps {wells}, or
 * {source} and perhaps {period}; title names it, such as "plate 3".
 */
export const withdrawValues = (id, what, title) =>
  change(id, "withdraw", {
    title: `Withdraw ${title}`,
    danger: true,
    text: "What was told stays in the history and does not count any more.",
    fields: [
      {
        name: "basis",
        label: "Why it was chosen",
        required: true,
        options: [
          ["", "Choose …"],
          ["cause", "A cause that was noticed without regard to the values"],
          ["values", "The values themselves"],
        ],
        hint:
          "A cause such as an air bubble keeps the guarantee, if it has nothing to do with the values. " +
          "A choice by values voids it.",
      },
      forGood,
    ],
    action: "Withdraw",
    body: ({ basis, reason }) => ({ ...what, basis, reason }),
  });

/** Reports that no value will come. what: {tickets} or {batch}; title names it; n: how many tickets. */
export const failTickets = (id, what, title, n) =>
  change(id, "fail", {
    title: `Report ${title} as failed`,
    danger: n > 1,
    text:
      `${plural(n, "ticket")} will have no value. Values that were told stay, and the arms may be ` +
      "asked for again. To report a measurement as failed because of its value voids the guarantee.",
    fields: [{ ...reasonField, hint: "It must have nothing to do with the values." }],
    action: "Report as failed",
    body: ({ reason }) => ({ ...what, reason }),
    told: ({ rows }) => `${plural(rows.length, "ticket")} reported as failed.`,
  });

/** Adds a note to the study, or to about: {arm} or {ticket}. */
export const addNote = (id, about = {}) =>
  change(id, "notes", {
    title: `Add a note${about.arm ? ` on ${about.arm}` : about.ticket ? ` on ${about.ticket}` : ""}`,
    text: "A note changes nothing. It stands in the history and in the report.",
    fields: [{ name: "text", label: "Note", required: true, rows: 3, maxlength: 1000, prose: true }],
    action: "Add",
    body: ({ text }) => ({ text, ...about }),
    told: () => "The note is written.",
  });

/** Adds a value that nobody asked for. */
export const addMeasurement = (id, arm, value = "") =>
  change(id, "measurements", {
    title: "Add a value that nobody asked for",
    text:
      `It counts for ${arm} and is marked. Add every such value or none: to add only those that one ` +
      "likes voids the guarantee.",
    fields: [
      { name: "value", label: "Value", value, required: true, inputmode: "decimal" },
      {
        name: "source",
        label: "Source",
        required: true,
        hint: "Where it comes from. The same source counts once for an arm.",
      },
    ],
    action: "Add",
    body: (values) => ({ arm, ...values }),
    told: ({ rows: [row] }) => row.message || `The value is stored: ${row.status}.`,
  });

/** Drops an arm, of which so many measurements were told. */
export const dropArm = (id, arm, measurements) =>
  change(id, "drop-arm", {
    title: `Drop ${arm}`,
    danger: true,
    text: [
      "It will not be asked for again, for example because it is used up.",
      measurements
        ? `It stays in the question with its ${plural(measurements, "measurement")}: other arms are ` +
          "still compared with it, and some of them may then stay open."
        : "It has no value yet, so it leaves the question. That is sound only if it is dropped " +
          "without regard to the other arms' values.",
    ],
    fields: [reasonField],
    action: "Drop",
    body: ({ reason }) => ({ arm, reason }),
  });

/** Lets a dropped arm be measured again. */
export const restoreArm = (id, arm) =>
  change(id, "restore-arm", {
    title: `Restore ${arm}`,
    text: "It may be asked for again.",
    fields: [reasonField],
    action: "Restore",
    body: ({ reason }) => ({ arm, reason }),
  });
