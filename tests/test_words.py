"""Old words and the loop variable ``one`` stay out of code, documents and pages.

docs/glossary.md has the words to use.  Each pattern below names an idea for which there is another
word; EXCEPTIONS lists the places at which the old word means something else.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allgood"

# Words that must not return, and the word to use.
OLD = {
    r"hearing|hears?|heard": "processing; quality.py",
    r"ledgers?": "StudyState",
    r"in vain|InVain": "censored",
    r"unasked": "unrequested",
    r"abandon(ed|s)?": "dropped",
    r"joins|planned_to_join": "is pooled",
    r"judge[ds]?|judging": "preview, classify",
    r"laws?": "model, distribution",
    r"odd": "influential",
    r"wary": "robust",
    r"tolls?|toll_\w+": "surcharge",
    r"tilt|tilt_and_bend": "gradient",
    r"Scratch|Room": "Workspace",
    r"WeakestClaim|weakest.claim": "ClaimByClaim",
    r"by_bounds": "confidence_bounds",
    r"catalogue": "registry",
    r"worlds|PythonWorld": "samplers",
    r"from 0 on": "of at least 0",
    r"comes on top": "adds to",
}

# Words that must not be used in some places only, and the word to use there.
OLD_IN = {
    (r"pulls?", "src/allgood/certificates"): "measurements",
    (r"pulls?", "src/allgood/serve/certificate_schema.py"): "measurements",
    (r"pulls?", "docs/certificates.md"): "measurements",
}

WORDS_IN = (
    "src/allgood",
    "docs",
    "setup.py",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
NAMES_IN = ("src/allgood", "tests", "benchmarks", "setup.py")

# (file, word) pairs: the word has its plain meaning.
EXCEPTIONS = {
    ("src/allgood/kernels/special.py", "odd"),  # the terms of a polynomial with odd powers
    ("src/allgood/certificates/verify.py", "odd"),  # the terms of a continued fraction
}

SUFFIXES = (".py", ".pyi", ".pxd", ".md", ".js", ".html", ".css")


def files(places, *suffixes):
    """Return the files of these places with these suffixes."""
    paths = [ROOT / place for place in places]
    paths += [path for folder in paths for path in sorted(folder.rglob("*"))]
    return [path for path in paths if path.is_file() and path.suffix in suffixes]


def occurrences(pattern, paths):
    """Return where a word stands, but for the exceptions."""
    word = re.compile(rf"(?<![A-Za-z])({pattern})(?![A-Za-z])", re.I if pattern.islower() else 0)
    places = []
    for path in files(paths, *SUFFIXES):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for match in word.finditer(line):
                if (name, match[0].lower()) not in EXCEPTIONS:
                    places.append(f"{name}:{number}: {match[0]}")
    return places


@pytest.mark.parametrize("pattern", OLD)
def test_no_old_word(pattern):
    places = occurrences(pattern, WORDS_IN)
    assert not places, f"say {OLD[pattern]!r}: {places}"


@pytest.mark.parametrize(("pattern", "place"), OLD_IN)
def test_no_old_word_in_its_place(pattern, place):
    assert (ROOT / place).exists()
    places = occurrences(pattern, [place])
    assert not places, f"say {OLD_IN[pattern, place]!r}: {places}"


def test_no_variable_rule_in_kernels():
    """The state of a strategy in a run is a state; a rule is a sentence."""
    places = []
    for path in files(("src/allgood/strategies", "src/allgood/simulation"), ".py", ".pxd"):
        code = re.sub(
            r'""".*?"""|#.*?$|"[^"\n]*"', "", path.read_text(encoding="utf-8"), flags=re.S | re.M
        )
        if re.search(r"\brule\b", code):
            places.append(path.name)
    assert not places, f"say 'state': {places}"


def test_no_loop_variable_one():
    """A loop variable has the name of the thing that it stands for."""
    places = []
    for path in files(NAMES_IN, ".py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.For | ast.comprehension):
                names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
                if "one" in names:
                    places.append(f"{path.relative_to(ROOT)}:{node.target.lineno}")
    assert not places


def test_exceptions_are_needed():
    for name, word in EXCEPTIONS:
        assert word in (ROOT / name).read_text(encoding="utf-8"), name
