// The HTTP interface. Paths are given without the leading /v1/: get("studies/3/status").

const ROLES = ["read", "measure", "manage"];

// A request was refused, or the server could not be reached. `detail` is the sentence to show, and
// `fields` are the names of the fields of the body that are wrong, if that is known.
export class Problem extends Error {
  constructor(detail, status = 0, { title = "", errors = [] } = {}) {
    super(detail);
    this.name = "Problem";
    this.detail = detail;
    this.status = status; // 0: no answer came
    this.title = title;
    this.fields = errors.map(({ pointer }) => pointer.split("/")[1]);
    this.passing = status === 0 || status === 503; // the same request may work later
  }
}

export const session = {
  role: null,
  needs_token: false,
  read_only: false,
  version: "",
  database: "",
};

// May the user of this page do what needs this role ("read", "measure" or "manage")?
export const may = (role) =>
  ROLES.indexOf(session.role) >= ROLES.indexOf(role) && !(session.read_only && role !== "read");

export const address = (path) => new URL(`v1/${path}`, document.baseURI).href;

export async function loadSession() {
  Object.assign(session, await get("session"));
  return session;
}

async function answer(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const body =
    type.includes("json") && !type.includes("ndjson")
      ? await response.json()
      : await response.text();
  if (response.ok) return body;
  if (response.status === 401 && session.role !== null) {
    session.role = null;
    window.dispatchEvent(new Event("allgood:session"));
  }
  const said =
    typeof body === "object" && typeof body?.detail === "string"
      ? body.detail
      : `The server answered with ${response.status} ${response.statusText}`.trim() + ".";
  const detail = body?.error === "DatabaseUnavailable" ? `${AWAY} The server says: ${said}` : said;
  throw new Problem(detail, response.status, typeof body === "object" ? body : {});
}

const AWAY = "The database is away or busy. Try again in a moment.";
export const LOST = "The server cannot be reached. Is it running, and is the network up?";
const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });

// One request, again with the same headers where the connection broke: a write carries its key, so
// it counts once.
async function send(path, options, { signal } = {}) {
  for (let tries = 3, wait = 400; ; wait *= 3) {
    signal?.throwIfAborted();
    let response;
    try {
      response = await fetch(address(path), {
        ...options,
        signal,
        credentials: "same-origin",
        cache: "no-store",
      });
      return await answer(response);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Problem) throw error;
      if (--tries <= 0) throw new Problem(LOST);
      await pause(wait, signal);
    }
  }
}

export const get = (path, options) =>
  send(path, { headers: { Accept: "application/json" } }, options);

// body: an object (sent as JSON), or a string, Blob or File with options.type. options: {signal,
// type, key}
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
  send(
    path,
    { method: "DELETE", headers: { "Idempotency-Key": options.key ?? newKey() } },
    options,
  );

// crypto.randomUUID exists only where the page came over TLS or from this machine; a random key
// will do elsewhere.
export const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("");

// True for the error of a request that was called off because its page was left.
export const aborted = (error) => error?.name === "AbortError";
