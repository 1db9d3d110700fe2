// Small tools for pictures: round numbers for an axis, straight scales, and pictures that follow
// the width of their box.

// Round numbers from low to high, about n of them.
export function ticks(low, high, n = 6) {
  const range = high - low;
  if (!(range > 0) || !Number.isFinite(range)) return [low];
  const rough = range / Math.max(1, n),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++)
    found.push(k * step);
  return found;
}

// A function from [low, high] to [from, to]; `back` goes the other way.
export function scale(low, high, from, to) {
  const size = high - low || 1;
  const f = (x) => from + ((x - low) / size) * (to - from);
  f.back = (p) => low + ((p - from) / (to - from || 1)) * size;
  f.low = low;
  f.high = high;
  return f;
}

// Low and high with some room around them.
export function widened(low, high, part = 0.06) {
  const room = (high - low) * part || Math.abs(high) * part || 1;
  return [low - room, high + room];
}

// Calls draw(width) now and whenever the width of the box changes.
export function followWidth(box, draw, signal) {
  let width = 0;
  const seen = new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      draw(now);
    }
  });
  seen.observe(box);
  signal?.addEventListener("abort", () => seen.disconnect(), { once: true });
  return () => {
    if (width) draw(width);
  };
}
