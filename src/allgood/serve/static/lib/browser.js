// What a page needs of the browser: storage, printing, files to save, sentences for screen readers,
// and calls that wait.
import { useEffect, useRef, useState } from "./view.js";

/** Says a sentence to screen readers, once. */
export function announce(sentence) {
  const box = document.getElementById("announce");
  box.textContent = "";
  setTimeout(() => {
    box.textContent = sentence;
  }, 60);
}

/** Returns a function that calls f when it was not called for `wait` milliseconds. */
export function debounce(f, wait) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), wait);
  };
}

// Storage may be switched off: then nothing is kept, and nothing fails.
const keep = (storage) => ({
  get(key, otherwise = null) {
    try {
      return JSON.parse(storage().getItem(key)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      storage().setItem(key, JSON.stringify(value));
    } catch {
      /* switched off or full */
    }
  },
});
/** Small choices, kept in this browser. */
export const stored = keep(() => localStorage);
const kept = keep(() => sessionStorage);

/** useState that survives reload and Back, for forms and filters; `key` names it in this tab. */
export function useKept(key, initial) {
  const [value, set] = useState(() => kept.get(key, initial));
  const name = useRef(key);
  useEffect(() => {
    if (name.current === key) return;
    name.current = key;
    set(kept.get(key, initial));
  }, [key]);
  useEffect(() => {
    if (name.current === key) kept.set(key, value);
  }, [value]);
  return [value, set];
}

/** True while the page is printed. */
export function usePrinting() {
  const [printing, set] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const media = matchMedia("print");
    media.addEventListener("change", () => set(media.matches), { signal });
    addEventListener("beforeprint", () => set(true), { signal });
    addEventListener("afterprint", () => set(false), { signal });
    return () => controller.abort();
  }, []);
  return printing;
}

/** True while the window is narrow, as on a telephone. */
export function useNarrow() {
  const media = matchMedia("(max-width: 700px)");
  const [narrow, set] = useState(media.matches);
  useEffect(() => {
    const change = () => set(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return narrow;
}

/** The width of an element in pixels, 0 before it is known: [ref for the element, width]. */
export function useWidth() {
  const ref = useRef();
  const [width, set] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => set(Math.floor(ref.current?.clientWidth ?? 0)));
    observer.observe(ref.current);
    set(Math.floor(ref.current.clientWidth));
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** The title of the window while a component is shown. */
export function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · allgood`;
  }, [title]);
}

/** Gives the browser a file to save. */
export function save(name, content, type = "application/json") {
  const url = URL.createObjectURL(
    content instanceof Blob ? content : new Blob([content], { type }),
  );
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
