"""The comparison of documents with what is printed can fail, and fails where it should."""

import pytest

from .support.printed import agree, same_line

ROW = "claim-by-claim 21,622 1,789 7,984 37,259 0 0.0-7.1 % 3.84"


def test_lines_gaps_and_beginnings():
    assert agree("a  b\n\nc\n", "a b\nc")
    assert agree("a\n...\nc\n", "a\nb\nc\n")
    assert agree("a\n", "a\nb\n", beginning=True)
    assert not agree("a\n", "a\nb\n")
    assert not agree("a\nc\n", "a\nb\nc\n")
    assert not agree("a\n...\nd\n", "a\nb\nc\n")
    assert not agree("b\n", "a\nb\n", beginning=True)


@pytest.mark.parametrize(
    ("shown", "printed", "agrees"),
    [
        (ROW, "claim-by-claim 21,932 1,790 7,990 37,300 0 0.0-7.1 % 3.90", True),
        # not its own mean over the bound
        (ROW, "claim-by-claim 21,932 1,790 7,990 37,300 0 0.0-7.1 % 3.00", False),
        (ROW, "claim-by-claim 41,622 1,789 7,984 37,259 0 0.0-7.1 % 7.39", False),
        (ROW, "claim-by-claim 21,622 5,789 7,984 37,259 0 0.0-7.1 % 3.84", False),
        (ROW, "claim-by-claim 21,622 1,789 7,984 37,259 20 0.0-7.1 % 3.84", False),
        (ROW, "another-claim 21,622 1,789 7,984 37,259 0 0.0-7.1 % 3.84", False),
        ("x 5,625 at delta = 0.1.", "x 5,626 at delta = 0.1.", False),  # not simulated: exactly
        ("easy 4 2 95 1,893 +- 94 375 +- 36 5.04", "easy 4 2 95 1,700 +- 90 390 +- 36 4.36", True),
        ("easy 4 2 95 1,893 +- 94 375 +- 36 5.04", "easy 4 2 95 893 +- 90 390 +- 36 4.36", False),
        ("easy 4 2 95 1,893 +- 94 375 +- 36 5.04", "easy 4 2 96 1,893 +- 94 375 +- 36 5.04", False),
        ("11 plates, certified", "12 plates, certified", True),
        ("11 plates, certified", "30 plates, certified", False),
        ("11 plates, certified", "11 plates, running", False),
        (
            "C1 good 9.1 8 to 10 20 38.0 / 7.09 C03",
            "C1 good 9.3 7 to 11 44 8.0 / 7.09 the pool",
            True,
        ),
        (
            "C1 good 9.1 8 to 10 20 38.0 / 7.09 C03",
            "C1 bad 9.3 7 to 11 44 8.0 / 7.09 the pool",
            False,
        ),
        (
            "C1 good 9.1 8 to 10 20 38.0 / 7.09 C03",
            "C1 good 19 18 to 20 44 8.0 / 7.09 the pool",
            False,
        ),
        ("1948 events, SHA-256 DIGEST.", "1900 events, SHA-256 DIGEST.", True),
        ("5 good, 55 bad, 0 open.", "4 good, 56 bad, 0 open.", False),
    ],
)
def test_simulated_figures_agree_within_their_error(shown, printed, agrees):
    assert same_line(shown, printed) is agrees
    assert same_line(shown, shown)
