// Live data: the server reports each change (server-sent events), and a page loads again what it
// shows. Nothing is polled. `useLive` is the only loader of pages.
import { Problem, address, pause } from "./api.js";
import { useEffect, useRef, useState } from "./view.js";

const streams = new Set();

/** "off" (nothing is watched, or not yet), "connected" or "reconnecting"; shown in the header. */
export function connection() {
  const all = [...streams].map((stream) => stream.connected);
  if (all.includes(false)) return "reconnecting";
  return all.length && all.every(Boolean) ? "connected" : "off";
}
const report = () => window.dispatchEvent(new Event("allgood:live"));

/**
 * Calls onChange(data) for every change: {first, last, kinds} of study `id`, {gone: true} when it
 * was deleted, or, if id is null, {studies: [ids]} of the list. Returns stop(). A page that nobody
 * sees closes its stream, since a browser has few connections, and catches up when it is seen again.
 */
function watch(id, after, onChange) {
  const stream = { connected: null }; // null: not known yet
  let source = null,
    timer = 0,
    wait = 500,
    last = after,
    hidden = 0;
  const set = (connected) => {
    stream.connected = connected;
    report();
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    const path = id === null ? "live" : `studies/${encodeURIComponent(id)}/live`;
    source = new EventSource(address(path) + (last === null ? "" : `?after=${last}`));
    source.onopen = () => {
      wait = 500;
      set(true);
      if (id === null) onChange({ studies: [] }); // the list has no numbers to catch up from
    };
    source.onerror = () => {
      set(false);
      if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
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
  const seen = () => {
    clearTimeout(hidden);
    if (!document.hidden && !source) open();
    else if (document.hidden)
      hidden = setTimeout(() => {
        close();
        set(false);
      }, 20_000);
  };
  function stop() {
    close();
    clearTimeout(hidden);
    document.removeEventListener("visibilitychange", seen);
    window.removeEventListener("online", open);
    streams.delete(stream);
    report();
  }
  document.addEventListener("visibilitychange", seen);
  window.addEventListener("online", open);
  streams.add(stream);
  open();
  return stop;
}

const OFTEN = 1000; // milliseconds between two loads, at least

/**
 * Loads what a page shows, again after every change of study `id` (null: of the list of studies), and
 * when `inputs` change. load(signal) gives the data; answers to questions that are no longer asked
 * are dropped, and one that the server was too busy to give is asked for again when it says.
 *
 * Returns {data, error, gone, reload}: data is null until the first answer and stays while a newer
 * one is loaded; error is the Problem of the last load, or null; gone is true when the study was
 * deleted; reload() loads now.
 *
 * @template T
 * @param {string | number | null} id
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {any[]} inputs
 * @param {{every?: number}} options
 * @returns {{data: T | null, error: any, gone: boolean, reload: () => void}}
 */
export function useLive(id, load, inputs = [], { every = OFTEN } = {}) {
  const [state, setState] = useState({ data: null, error: null, gone: false });
  const loader = useRef();
  const latest = useRef();
  latest.current = load;
  useEffect(() => {
    loader.current = newLoader((signal) => latest.current(signal), setState, every);
    loader.current.now();
    return loader.current.stop;
  }, [id, ...inputs]);
  const events = state.data?.events ?? null; // the number of the last event that is shown
  const loaded = state.data !== null;
  useEffect(() => {
    if (!loaded) return undefined;
    return watch(id, id === null ? null : events, (change) => {
      if (change.gone) setState((old) => ({ ...old, gone: true }));
      else if (!(change.last <= (loader.current.shown ?? -1))) loader.current.soon();
    });
  }, [id, loaded]);
  return { ...state, reload: () => loader.current.now() };
}

/**
 * Loads something slow: now, and again after `change` has changed, at most once in `every`
 * milliseconds. Returns {data, error} as useLive does.
 */
export function useSlow(id, load, change, every) {
  const [state, setState] = useState({ data: null, error: null });
  const loader = useRef();
  const latest = useRef();
  latest.current = load;
  useEffect(() => {
    loader.current = newLoader((signal) => latest.current(signal), setState, every);
    return loader.current.stop;
  }, [id]);
  useEffect(() => loader.current.soon(), [id, change]);
  return state;
}

// One load at a time, at most once in `every` milliseconds; a change during a load loads again.
function newLoader(load, setState, every) {
  const controller = new AbortController();
  const { signal } = controller;
  const loader = { shown: null, now, soon, stop: () => controller.abort() };
  let busy = false,
    again = false,
    last = -Infinity,
    timer = 0;
  function soon() {
    if (busy) again = true;
    else if (!timer) timer = setTimeout(now, Math.max(0, last + every - performance.now()));
  }
  async function now() {
    clearTimeout(timer);
    timer = 0;
    if (busy) again = true;
    if (busy || signal.aborted) return;
    busy = true;
    again = false;
    last = performance.now();
    try {
      const data = await load(signal);
      signal.throwIfAborted();
      loader.shown = data?.events ?? null;
      setState((old) => ({ ...old, data, error: null }));
    } catch (error) {
      if (signal.aborted) return;
      setState((old) => ({ ...old, error, gone: old.gone || (error.status === 404 && !!old.data) }));
      if (error instanceof Problem && error.passing) {
        await pause(1000 * (error.wait ?? 5), signal).catch(() => {});
        again = true;
      } else if (!(error instanceof Problem)) console.error(error);
    } finally {
      busy = false;
      if (again && !signal.aborted) soon();
    }
  }
  return loader;
}
