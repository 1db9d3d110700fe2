// Requests to the HTTP interface. Paths are given without the leading /v1/: get("studies/3/status").

const ROLES = ["read", "measure", "manage"];

/**
 * A request was refused, or the server could not be reached. `detail` is the sentence to show,
 * `errors` says which fields of the body are wrong, `hints` what would help.
 */
export class Problem extends Error {
  constructor(detail, { status = 0, errors = [], hints = [], wait = null } = {}) {
    super(detail);
    this.name = "Problem";
    this.detail = detail;
    this.status = status; // 0: no answer came
    this.hints = hints;
    this.fields = Object.fromEntries(
      errors.map((error) => [error.pointer.split("/")[1], error.detail]),
    );
    this.wait = wait; // seconds after which the same request may work
    this.passing = [0, 429, 503].includes(status);
  }
}

/** The sentence of whatever was thrown. */
export const sentenceOf = (error) =>
  typeof error === "string" ? error : (error.detail ?? `This page failed: ${error.message}`);

export const session = {
  role: null,
  needs_token: false,
  read_only: false,
  version: "",
  database: "",
};

/**
 * Words of the package for its codes: outcomes, row statuses, models, event kinds and so on.
 * @type {Record<string, any>}
 */
export const vocabulary = {};

/** May the user of this page do what needs this role ("read", "measure" or "manage")? */
export const may = (role) =>
  ROLES.indexOf(session.role) >= ROLES.indexOf(role) && !(session.read_only && role !== "read");

export const address = (path) => new URL(`v1/${path}`, document.baseURI).href;

/** Asks who we are; then, once, for the words. */
export async function loadSession() {
  Object.assign(session, await get("session"));
  if (session.role !== null && !Object.keys(vocabulary).length)
    Object.assign(vocabulary, await get("vocabulary"));
}

const AWAY = "The database is away or busy. Try again in a moment.";
const LOST = "The server cannot be reached. Is it running, and is the network up?";

async function read(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const isJson = type.includes("json") && !type.includes("ndjson");
  const body = isJson ? await response.json() : await response.text();
  if (response.ok) return body;
  if (response.status === 401 && session.role !== null) {
    session.role = null;
    window.dispatchEvent(new Event("allgood:session"));
  }
  const { status, statusText } = response;
  const said = body?.detail ?? `The server answered with ${status} ${statusText}`.trim() + ".";
  const detail = body?.error === "DatabaseUnavailable" ? `${AWAY} The server says: ${said}` : said;
  const wait = Number(response.headers.get("Retry-After")) || null;
  throw new Problem(detail, { ...(isJson ? body : {}), status, wait });
}

/** Waits for so many milliseconds, or until the signal aborts, which throws its reason. */
export const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });

// One request; if the connection broke, the same again: a write carries its key, so it counts once.
async function send(path, request, { signal } = {}) {
  for (let tries = 3, wait = 400; ; wait *= 3) {
    signal?.throwIfAborted();
    try {
      const options = { ...request, signal, credentials: "same-origin", cache: "no-store" };
      return await read(await fetch(address(path), options));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Problem) throw error;
      tries -= 1;
      if (tries <= 0) throw new Problem(LOST);
      await pause(wait, signal);
    }
  }
}

export const get = (path, options = {}) =>
  send(path, { headers: { Accept: "application/json" } }, options);

/**
 * Sends an object as JSON, or a text, Blob or File as it is (options.type). A request that is sent
 * again with its options.key is carried out once.
 */
export function post(path, body = {}, options = {}) {
  const raw = typeof body === "string" || body instanceof Blob;
  const headers = {
    Accept: "application/json",
    "Content-Type": raw ? options.type || body.type || "text/plain" : "application/json",
    "Idempotency-Key": options.key ?? newKey(),
  };
  return send(path, { method: "POST", headers, body: raw ? body : JSON.stringify(body) }, options);
}

export const remove = (path, options = {}) =>
  send(path, { method: "DELETE", headers: { "Idempotency-Key": newKey() } }, options);

// crypto.randomUUID exists only on pages that came over TLS or from this machine.
export const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("");
