"""Pictures that are not looked at: drawing takes most of the time of a report or a comparison."""

import pytest
from matplotlib.figure import Figure


def draw_nothing(monkeypatch):
    """From now on every picture is an empty one."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, out, **options: out.write("<svg></svg>"))


@pytest.fixture
def sketched(monkeypatch):
    """Pictures are drawn coarsely, without layout and axes, which would take most of the time."""
    draw = Figure.savefig

    def sketch(figure, *where, **options):
        figure.set_layout_engine(None)
        for axes in figure.axes:
            axes.xaxis.set_visible(False)
            axes.yaxis.set_visible(False)
        draw(figure, *where, **options | {"dpi": 50})

    monkeypatch.setattr(Figure, "savefig", sketch)
