// Server-sent events: the server says when something changed. Nothing is polled.
import { address } from "./api.js";

const streams = new Set();

// Shown in the header: "off" (nothing is watched, or not yet), "connected" or "reconnecting".
export function state() {
  const all = [...streams].map((stream) => stream.connected);
  if (all.includes(false)) return "reconnecting";
  return all.length && all.every(Boolean) ? "connected" : "off";
}
const tell = () => window.dispatchEvent(new Event("allgood:live"));

// Calls onChange(data) for every change after event number `after`: {first, last, kinds} of study
// `id`, or, where id is null, {studies: [ids]} of the list. data.gone is true when the study was
// deleted. Stops when signal aborts; returns stop(). A page that nobody sees closes its stream,
// since a browser has few connections, and catches up when it is seen again.
export function watch(id, onChange, { after, signal } = {}) {
  const stream = { connected: null }; // null: not known yet
  let source = null,
    timer = 0,
    wait = 500,
    last = after,
    hidden = 0;

  const open = () => {
    clearTimeout(timer);
    source?.close();
    const path = id === null ? "live" : `studies/${encodeURIComponent(id)}/live`;
    source = new EventSource(
      address(path) + (last === undefined || last === null ? "" : `?after=${last}`),
    );
    source.onopen = () => {
      wait = 500;
      stream.connected = true;
      tell();
      // the list has no numbers to catch up from: look again
      if (id === null) onChange({ studies: [] });
    };
    source.onerror = () => {
      stream.connected = false;
      tell();
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      timer = setTimeout(open, wait);
      wait = Math.min(2 * wait, 15_000);
    };
    source.addEventListener("change", (event) => {
      if (event.lastEventId) last = event.lastEventId;
      onChange(JSON.parse(event.data));
    });
    source.addEventListener("gone", () => {
      stop();
      onChange({ gone: true });
    });
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const seen = () => {
    clearTimeout(hidden);
    if (document.hidden)
      hidden = setTimeout(() => {
        close();
        stream.connected = false;
        tell();
      }, 20_000);
    else if (!source) open();
  };
  const online = () => open();
  function stop() {
    close();
    clearTimeout(hidden);
    document.removeEventListener("visibilitychange", seen);
    window.removeEventListener("online", online);
    streams.delete(stream);
    tell();
  }

  document.addEventListener("visibilitychange", seen);
  window.addEventListener("online", online);
  signal?.addEventListener("abort", stop, { once: true });
  streams.add(stream);
  open();
  tell();
  return stop;
}
