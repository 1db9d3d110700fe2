// Numbers and times in words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const cache = new Map();
function formatter(options) {
  const key = JSON.stringify(options);
  if (!cache.has(key)) cache.set(key, new Intl.NumberFormat("en", options));
  return cache.get(key);
}
const minus = (text) => (text === "-0" ? "0" : text.replace("-", "−"));
const known = (x) => x !== null && x !== undefined && Number.isFinite(x);

// 12,345
export const count = (n) => (known(n) ? minus(whole.format(n)) : "–");

// 3 significant digits, never cutting whole digits: 0.123, 12.3, 1,234
export function number(x, digits = 3) {
  if (!known(x)) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e9))
    return minus(x.toExponential(Math.max(0, digits - 1)));
  if (size >= 10 ** digits) return minus(whole.format(x));
  return minus(formatter({ maximumSignificantDigits: digits }).format(x));
}

// A number with a fixed number of decimals, for columns: 0.120
export const fixed = (x, decimals) =>
  known(x)
    ? minus(
        formatter({ minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(x),
      )
    : "–";

// How many decimals tell numbers apart that are spread over `range`.
export const decimalsFor = (range) =>
  range > 0 && Number.isFinite(range)
    ? Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(range))))
    : 2;

export const percent = (x, digits = 2) => (known(x) ? `${number(100 * x, digits)} %` : "–");

// plural(3, "arm") is "3 arms"; plural(2, "study", "studies")
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// "A, B and C"; with more than `most`, "A, B and 7 others"
export function list(words, most = Infinity) {
  if (words.length > most)
    return `${words.slice(0, most - 1).join(", ")} and ${count(words.length - most + 1)} others`;
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

const UNITS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

// 200 is "3 minutes"
export function duration(seconds) {
  const size = Math.abs(seconds);
  for (const [unit, length] of UNITS)
    if (size >= length) return plural(Math.floor(size / length), unit);
  return "less than a second";
}

// Of a time in seconds since 1970: "3 minutes ago", "in 2 hours", "just now"
export function ago(time, now = Date.now() / 1000) {
  if (!known(time)) return "never";
  const passed = now - time;
  if (Math.abs(passed) < 5) return "just now";
  return passed > 0 ? `${duration(passed)} ago` : `in ${duration(passed)}`;
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export const date = (time) => (known(time) ? day.format(1000 * time) : "–");
export const moment = (time) => (known(time) ? exact.format(1000 * time) : "–");
export const iso = (time) => (known(time) ? new Date(1000 * time).toISOString() : "");

// A cell of a CSV file. An apostrophe before a text keeps spreadsheets from taking it for a formula;
// the server reads and writes cells in the same way.
const FORMULA = /^'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
export const guarded = (cell) =>
  typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : cell;
export const unguarded = (text) =>
  text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
