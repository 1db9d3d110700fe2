"""Compare what a document shows with what a program prints.

Words, exact results and everything else must be the same, line by line, but for blanks.  Simulated
figures may differ from machine to machine: if two arms are tied up to rounding, another processor
may pull the other one, and the run goes another way.  They must agree within their error, and this
is what "error" means here (each rule below states its own):

- the means of two simulations differ by at most 4 times the standard error of their difference;
- points of 10 % and 90 % by at most 10 times: the standard error of such a point is 1.7 times that
  of the mean for a normal model, and larger for a skewed one;
- the size of a single study by at most 60 %: 4 sqrt(2) times its standard deviation, about a tenth;
- averages of single studies have intervals that must overlap: both hold the mean with probability
  0.95.  Measurements and evidence of a single arm are not compared.
"""

import math
import re

BLANKS = re.compile(r"\s+")


def lines(text):
    """Return the lines that are not empty, with blanks folded, without the machine's own marks."""
    text = re.sub(r"[0-9a-f]{64}", "DIGEST", text)  # digests hold the time
    text = re.sub(r"certified to lie between .*?\)\.", "certified.", text)  # last digits
    folded = (BLANKS.sub(" ", line).strip() for line in text.splitlines())
    return [line for line in folded if line]


def agree(shown, printed, beginning=False):
    """Tell whether all lines shown were printed, in this order; three dots stand for any lines.

    ``beginning``: more lines may follow.
    """
    wanted, got = lines(shown), lines(printed)

    def match(i, j):
        if i == len(wanted):
            return beginning or j == len(got)
        if wanted[i] == "...":
            return any(match(i + 1, k) for k in range(j, len(got) + 1))
        return j < len(got) and same_line(wanted[i], got[j]) and match(i + 1, j + 1)

    return match(0, 0)


def same_line(shown, printed):
    if shown == printed:
        return True
    for pattern, rule in SIMULATED:
        left, right = re.fullmatch(pattern, shown), re.fullmatch(pattern, printed)
        if left and right:
            return rule(left.groupdict(), right.groupdict())
    return False


def number(text):
    return float(text.replace(",", ""))


def equal(shown, printed, *names):
    return all(shown[name] == printed[name] for name in names)


def near(shown, printed, *names, part=0.6):
    """Tell whether figures of single studies differ by at most this part of the larger one."""
    pairs = [(number(shown[name]), number(printed[name])) for name in names]
    return all(abs(x - y) <= part * max(abs(x), abs(y)) for x, y in pairs)


def comparison(shown, printed):
    """Compare a row of ``compare``: 50 runs at delta = 0.1."""
    error = math.hypot(number(shown["error"]), number(printed["error"]))
    x, y = number(shown["mean"]), number(printed["mean"])
    points = [abs(number(shown[name]) - number(printed[name])) for name in ("low", "high")]
    ratio = number(shown["ratio"]) / number(printed["ratio"])
    return (
        equal(shown, printed, "name")
        and abs(x - y) <= 4.0 * error
        and max(points) <= 10.0 * error
        and 0.5 <= number(shown["error"]) / number(printed["error"]) <= 2.0
        and abs(number(shown["wrong"]) - number(printed["wrong"]))
        <= 4.0 * math.sqrt(2 * 50 * 0.1 * 0.9)
        and abs(ratio - x / y) <= 0.02
    )


def row_of_suite(shown, printed):
    """Compare a row of ``compare --suite``: means with standard errors, and a ratio of them."""
    pairs = zip(MEAN.findall(shown["means"]), MEAN.findall(printed["means"]), strict=True)
    close = [
        abs(number(x) - number(y)) <= 4.0 * math.hypot(number(dx), number(dy)) + 1.0
        for (x, dx), (y, dy) in pairs
    ]
    return equal(shown, printed, "what") and all(close) and near(shown, printed, "ratio")


def plan(shown, printed):
    """Compare a row of ``study plan`` with 10 runs; 2 of them lie outside each range.

    Between the second and the ninth of ten lie 2.0 standard deviations on average.
    """
    spread = max(number(row["high"]) - number(row["low"]) for row in (shown, printed))
    error = math.sqrt(2.0) * spread / 2.0 / math.sqrt(10.0)
    points = [abs(number(shown[name]) - number(printed[name])) for name in ("low", "high")]
    means = abs(number(shown["mean"]) - number(printed["mean"]))
    # Figures are rounded, each by half a unit at most.
    return (
        equal(shown, printed, "what")
        and means <= 4.0 * error + 1.0
        and max(points) <= 10.0 * error + 1.0
    )


def arm(shown, printed):
    """Compare an arm of a study: the label is the same, and the intervals overlap."""
    low = max(number(shown["low"]), number(printed["low"]))
    high = min(number(shown["high"]), number(printed["high"]))
    return equal(shown, printed, "name", "label") and low <= high


def study(shown, printed):
    """Compare the sizes of a single study."""
    exact = [name for name in shown if name.startswith("same")]
    return equal(shown, printed, *exact) and near(shown, printed, *(set(shown) - set(exact)))


N = r"-?[\d,]+(?:\.\d+)?"
MEAN = re.compile(rf"({N}) \+- ({N})")
SIMULATED = [
    (rf"(?P<what>\S+ {N} {N} {N}) (?P<means>(?:{N} \+- {N} )+)(?P<ratio>{N})", row_of_suite),
    (rf"Result\(certified after (?P<pulls>{N}) pulls; (?P<same>.*)\)", study),
    (
        rf"(?P<name>\S+(?: \*)?) (?P<mean>{N}) (?P<error>{N}) (?P<low>{N}) (?P<high>{N}) "
        rf"(?P<wrong>{N}) {N}-{N} % (?P<ratio>{N})",
        comparison,
    ),
    (
        rf"(?P<what>measurements|plates) (?P<mean>{N}) on average, "
        rf"(?P<low>{N}) to (?P<high>{N}) in 8 of 10 simulated studies",
        plan,
    ),
    (
        rf"(?P<name>\S+) (?P<label>good|bad) {N} (?P<low>{N}) to (?P<high>{N}) "
        rf"{N} {N} / {N} (?:\S+|the pool)",
        arm,
    ),
    (rf"(?P<name>\S+) (?P<label>good|bad) {N} answers {N} \((?P<low>{N}) to (?P<high>{N})\)", arm),
    (rf"(?P<plates>{N}) plates, certified", study),
    (rf"(?P<same>88 measurements) of (?P<arms>{N}) arms in plate-2\.csv\.", study),
    (rf"(?P<same>[A-Z].*: .*, of {N} arms) after (?P<told>{N}) measurements\.", study),
    (rf"(?P<told>{N}) of (?P<same>{N}) measurements, (?P<same_pending>{N}) pending\.", study),
    (
        rf"Any strategy must expect at least (?P<bound>{N}) measurements in all at these "
        r"estimates\.",
        study,
    ),
    (rf"certified after (?P<told>{N}) answers, (?P<same>{N}) never told", study),
    (rf"(?P<events>{N}) events, SHA-256 DIGEST\.", study),
    (
        rf"All (?P<tickets>{N}) tickets of (?P<batches>{N}) batches "
        r"are chosen again as they were\.",
        study,
    ),
]
