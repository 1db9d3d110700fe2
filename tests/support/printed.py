"""Whether a document shows what a program prints.

Words, exact results and everything else must be the same, line by line, but for blanks.  Simulated
figures may differ from machine to machine: where two arms are tied up to rounding, another
processor may pull the other one, and the run goes another way.  They must agree within their error,
and this is what "error" means here (each rule below states its own):

- the means of two simulations differ by at most 4 times the standard error of their difference;
- points of 10 % and 90 % by at most 10 times: the standard error of such a point is 1.7 times that
  of the mean for a normal model, and larger for a skewed one;
- the size of a single study by at most 60 %: 4 sqrt(2) times its standard deviation, about a tenth;
- averages of single studies have intervals that must overlap: both hold the mean with probability
  0.95.  Pulls and evidence of a single arm are not compared.
"""

import math
import re

BLANKS = re.compile(r"\s+")


def lines(text):
    """The lines that are not empty, with blanks folded, and without what depends on the machine."""
    text = re.sub(r"[0-9a-f]{64}", "DIGEST", text)  # digests hold the time
    text = re.sub(r"certified to lie between .*?\)\.", "certified.", text)  # last digits
    folded = (BLANKS.sub(" ", line).strip() for line in text.splitlines())
    return [line for line in folded if line]


def agree(shown, printed, beginning=False):
    """Whether all lines shown were printed, in this order; a line of three dots stands for any.

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
        one, other = re.fullmatch(pattern, shown), re.fullmatch(pattern, printed)
        if one and other:
            return rule(one.groupdict(), other.groupdict())
    return False


def number(text):
    return float(text.replace(",", ""))


def equal(one, other, *names):
    return all(one[name] == other[name] for name in names)


def near(one, other, *names, part=0.6):
    """Whether these figures of single studies differ by at most this part of the larger one."""
    pairs = [(number(one[name]), number(other[name])) for name in names]
    return all(abs(x - y) <= part * max(abs(x), abs(y)) for x, y in pairs)


def comparison(one, other):
    """A row of ``compare``: 50 runs at delta = 0.1."""
    error = math.hypot(number(one["error"]), number(other["error"]))
    x, y = number(one["mean"]), number(other["mean"])
    points = [abs(number(one[name]) - number(other[name])) for name in ("low", "high")]
    ratio = number(one["ratio"]) / number(other["ratio"])
    return (
        equal(one, other, "name")
        and abs(x - y) <= 4.0 * error
        and max(points) <= 10.0 * error
        and 0.5 <= number(one["error"]) / number(other["error"]) <= 2.0
        and abs(number(one["wrong"]) - number(other["wrong"]))
        <= 4.0 * math.sqrt(2 * 50 * 0.1 * 0.9)
        and abs(ratio - x / y) <= 0.02
    )


def row_of_suite(one, other):
    """A row of ``compare --suite``: means with their standard errors, and a ratio of them."""
    pairs = zip(MEAN.findall(one["means"]), MEAN.findall(other["means"]), strict=True)
    close = [
        abs(number(x) - number(y)) <= 4.0 * math.hypot(number(dx), number(dy)) + 1.0
        for (x, dx), (y, dy) in pairs
    ]
    return equal(one, other, "what") and all(close) and near(one, other, "ratio")


def plan(one, other):
    """A row of ``study plan`` with 10 runs; 2 of them lie outside each range.

    Between the second and the ninth of ten lie 2.0 standard deviations on average.
    """
    spread = max(number(row["high"]) - number(row["low"]) for row in (one, other))
    error = math.sqrt(2.0) * spread / 2.0 / math.sqrt(10.0)
    points = [abs(number(one[name]) - number(other[name])) for name in ("low", "high")]
    means = abs(number(one["mean"]) - number(other["mean"]))
    # Figures are rounded, each by half a unit at most.
    return (
        equal(one, other, "what")
        and means <= 4.0 * error + 1.0
        and max(points) <= 10.0 * error + 1.0
    )


def arm(one, other):
    """An arm of one study: same label, and intervals that overlap."""
    low = max(number(one["low"]), number(other["low"]))
    high = min(number(one["high"]), number(other["high"]))
    return equal(one, other, "name", "label") and low <= high


def study(one, other):
    """Sizes of a single study."""
    exact = [name for name in one if name.startswith("same")]
    return equal(one, other, *exact) and near(one, other, *(set(one) - set(exact)))


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
    (rf"(?P<same>[A-Z].*: .*, of {N} arms) after (?P<pulls>{N}) measurements\.", study),
    (rf"(?P<pulls>{N}) of (?P<same>{N}) measurements, (?P<same_pending>{N}) pending\.", study),
    (
        rf"Any strategy must expect at least (?P<bound>{N}) measurements in all at these "
        r"estimates\.",
        study,
    ),
    (rf"certified after (?P<pulls>{N}) answers, (?P<same>{N}) never told", study),
    (rf"(?P<events>{N}) events, SHA-256 DIGEST\.", study),
    (
        rf"All (?P<tickets>{N}) tickets of (?P<batches>{N}) batches "
        r"are chosen again as they were\.",
        study,
    ),
]
