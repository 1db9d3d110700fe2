// A simulated run of an instance, played frame by frame, with its labels over the measurements.
import { post } from "./api.js";
import { announce, useWidth } from "./browser.js";
import { count, plural } from "./format.js";
import { html } from "./html.js";
import { scale } from "./plot.js";
import { useShortcut } from "./shortcuts.js";
import { useEffect, useRef, useState } from "./view.js";
import { Badge, ErrorLine } from "./widgets.js";

const SECONDS = 14; // a run at speed 1
const MOST_PULLS = 200_000;
const SPEEDS = { 0.25: "¼ ×", 0.5: "½ ×", 1: "1 ×", 2: "2 ×", 4: "4 ×" };

const labelled = (frame, label) => frame.labels.filter((l) => l === label).length;

function verdictOf(run) {
  if (run.wrong.length)
    return `${plural(run.wrong.length, "label is", "labels are")} wrong: arm ${run.wrong.join(", ")}.`;
  return run.certified
    ? "All labels are certified, and none is wrong."
    : `Not all labels were certified within ${count(MOST_PULLS)} measurements; none is wrong.`;
}

/** A step line of numbers against the pulls of the frames, as points of a polygon. */
function steps(frames, x, y, numbers) {
  const points = [];
  frames.forEach((frame, i) => {
    const at = x(Math.log(frame.pulls)).toFixed(1);
    if (i) points.push(`${at},${y(numbers[i - 1]).toFixed(1)}`);
    points.push(`${at},${y(numbers[i]).toFixed(1)}`);
  });
  return points;
}

/** How many labels were good and bad over the run, with a line at the frame that is shown. */
function Course({ frames, at }) {
  const [box, width] = useWidth();
  const [height, left, right, top, bottom] = [120, 40, 10, 8, 24];
  const K = frames[0].labels.length;
  const [first, last] = [frames[0].pulls, frames.at(-1).pulls];
  const x = scale(Math.log(first), Math.log(Math.max(last, first + 1)), left, width - right);
  const y = scale(0, K, height - bottom, top);
  const good = frames.map((frame) => labelled(frame, "good"));
  const either = frames.map((frame, i) => good[i] + labelled(frame, "bad"));
  const none = frames.map(() => 0);
  const area = (upper, lower) =>
    [...steps(frames, x, y, upper), ...steps(frames, x, y, lower).reverse()].join(" ");
  const powers = [];
  for (let p = 10 ** Math.ceil(Math.log10(first)); p <= last; p *= 10) powers.push(p);
  const here = x(Math.log(frames[at].pulls));
  const words =
    `Labels against measurements. At ${count(frames[at].pulls)} measurements: ${good[at]} good, ` +
    `${either[at] - good[at]} bad, ${K - either[at]} open.`;
  return html`
    <div class="course-box" ref=${box}>
      ${width > 0 && html`
        <svg class="course" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img"
            aria-label=${words}>
          <rect class="open-area" x=${left} y=${top} width=${width - left - right} height=${height - bottom - top} />
          <polygon class="good-area" points=${area(good, none)} />
          <polygon class="bad-area" points=${area(either, good)} />
          ${[0, K].map((n) => html`<text class="tick" x=${left - 6} y=${y(n) + 4} text-anchor="end">${n}</text>`)}
          ${powers.map((p) => html`<text class="tick" x=${x(Math.log(p))} y=${height - 6} text-anchor="middle">${count(p)}</text>`)}
          <line class="cursor" x1=${here} x2=${here} y1=${top - 4} y2=${height - bottom + 4} />
        </svg>`}
    </div>`;
}

/** Moves through the frames while `playing`, from where it is; calls onEnd at the last one. */
function usePlaying({ playing, frames, at, speed, onSeek, onEnd }) {
  const now = useRef(at);
  now.current = at;
  useEffect(() => {
    if (!playing) return undefined;
    const began = performance.now();
    const from = now.current;
    let tick = requestAnimationFrame(function go(time) {
      const passed = (Math.max(0, time - began) / 1000) * speed * (frames.length / SECONDS);
      const i = Math.min(frames.length - 1, Math.floor(from + passed));
      if (i !== now.current) onSeek(i);
      if (i === frames.length - 1) onEnd();
      else tick = requestAnimationFrame(go);
    });
    return () => cancelAnimationFrame(tick);
  }, [playing, speed, frames]);
}

/** Asks for a run: {run, error, busy, start(seed), forget()}. */
function useRun(body) {
  const [state, setState] = useState({ run: null, error: null, busy: false });
  const controller = useRef();
  const start = async (seed) => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setState({ run: null, error: null, busy: true });
    try {
      const asked = { ...body, seed, max_pulls: MOST_PULLS, frames: 240 };
      const run = await post("explore/run", asked, { signal });
      setState({ run, error: null, busy: false });
    } catch (error) {
      if (!signal.aborted) setState({ run: null, error, busy: false });
    }
  };
  useEffect(() => () => controller.current?.abort(), []);
  return { ...state, start, forget: () => setState({ run: null, error: null, busy: false }) };
}

/** The controls of a run on `body`; onFrame(frame) is told which moment is shown, null for none. */
export function Player({ body, onFrame }) {
  const { run, error, busy, start, forget } = useRun(body);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [seed, setSeed] = useState(1);
  const frames = run?.frames ?? [];
  const end = () => {
    setPlaying(false);
    announce(`${plural(run.pulls, "measurement")}. ${verdictOf(run)}`);
  };
  usePlaying({ playing, frames, at, speed, onSeek: setAt, onEnd: end });
  useEffect(() => {
    setAt(0);
    setPlaying(frames.length > 0);
  }, [run]);
  useEffect(() => onFrame(frames[at] ?? null), [run, at]);
  useEffect(() => () => onFrame(null), []);
  const ended = at >= frames.length - 1;
  const toggle = () => {
    if (!run) start(seed);
    else if (!playing && ended) setAt(0);
    if (run) setPlaying(!playing);
  };
  const again = () => {
    setSeed(seed + 1);
    start(seed + 1);
  };
  useShortcut("p", "Of Explore: play or pause a run", toggle);
  const words = !run ? "Run it" : playing ? "Pause" : ended ? "Play again" : "Play";
  const seek = (event) => {
    setPlaying(false);
    setAt(Number(event.target.value));
  };
  const frame = frames[at];
  return html`
    <div class="run-bar" role="group" aria-label="A simulated run">
      <button type="button" class="primary" disabled=${busy} onclick=${toggle}>${words}</button>
      ${frame && html`
        <div class="deck">
          <input type="range" class="scrub" min="0" max=${frames.length - 1} value=${at}
            aria-label="Place in the run" oninput=${seek}
            aria-valuetext="${count(frame.pulls)} measurements, ${labelled(frame, "open")} labels open" />
          <select aria-label="Speed" value=${speed} onchange=${(event) => setSpeed(Number(event.target.value))}>
            ${Object.entries(SPEEDS).sort(([a], [b]) => a - b).map(([key, sign]) => html`<option value=${key}>${sign}</option>`)}
          </select>
        </div>
        <button type="button" onclick=${again}>Another run</button>
        <button type="button" class="plain" onclick=${forget}>Back to the means</button>`}
    </div>
    <${ErrorLine} error=${error} />
    ${frame && html`
      <p class="readout">
        <b>${plural(frame.pulls, "measurement")}</b>
        ${["good", "bad", "open"].map((label) => html`<${Badge} label=${label}>${labelled(frame, label)} ${label}<//>`)}
        ${ended && html`<span class=${run.wrong.length ? "late" : "soft"}>${verdictOf(run)}</span>`}
      </p>
      <${Course} frames=${frames} at=${at} />`}`;
}
