import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from sdcgate.methods.outputs.distributions import box_plot, density, histogram
from sdcgate.methods.outputs.hexagonal_bins import Grid, hexagonal_bins
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.pictures import (
    Labels,
    box_plot_picture,
    density_picture,
    hexagon_picture,
    histogram_picture,
    lorenz_picture,
    step_picture,
)
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence

SECRET = 987654321.0
VALUES = np.append(np.arange(1.0, 1000.0), SECRET)
SAMPLE = Sample(VALUES, np.zeros(1000, dtype=np.int64), np.arange(1000), 2)
FOUND = percentiles(SAMPLE, PercentileUnits(10, 10, Consequence.REFUSE))
LABELS = Labels("<Income> & more", "income", "share")
GRID = Grid((500.0, 500.0), (100.0, 100.0))


def drawn() -> dict[str, str]:
    bars, curve = histogram(FOUND, 0), density(FOUND, 0)
    assert bars is not None
    assert curve is not None
    return {
        "histogram": histogram_picture(bars, LABELS),
        "density": density_picture(curve, LABELS),
        "lorenz": lorenz_picture(FOUND.points, FOUND.lorenz[0], LABELS),
        "box plot": box_plot_picture(box_plot(FOUND), ["all", "nobody"], LABELS),
        "hexagons": hexagon_picture(hexagonal_bins(SAMPLE, VALUES, 0, GRID, 10), GRID, LABELS),
        "steps": step_picture(np.array([3.0, 7.0]), np.array([0.75, 0.25]), 1.0, LABELS),
    }


@pytest.mark.parametrize("kind", ["histogram", "density", "lorenz", "box plot", "hexagons", "steps"])
def test_a_picture_is_well_formed_and_draws_inside_its_frame(kind):
    root = ElementTree.fromstring(drawn()[kind])
    points = " ".join(element.get("points", "") for element in root.iter())
    places = [float(value) for value in re.findall(r"[\d.]+", points)]
    assert all(0 <= place <= 480 for place in places)
    assert "<Income> & more" in [element.text for element in root.iter()]


@pytest.mark.parametrize("kind", ["histogram", "density", "lorenz", "box plot", "hexagons", "steps"])
def test_a_picture_has_no_outlier_and_no_greatest_value(kind):
    numbers = re.findall(r"(?<![#\w])\d+\.?\d*(?:e\+\d+)?", drawn()[kind].split("\n", 1)[1])
    largest = max(map(float, numbers))
    assert largest < 2000


def test_a_picture_is_the_same_for_the_same_released_data():
    """Records that no window holds may change: the picture, like the data, does not know them."""
    moved = VALUES.copy()
    moved[-1] = 5 * SECRET
    again = percentiles(
        Sample(moved, SAMPLE.groups, SAMPLE.units, 2), PercentileUnits(10, 10, Consequence.REFUSE)
    )
    bars, others = histogram(FOUND, 0), histogram(again, 0)
    assert bars is not None
    assert others is not None
    assert histogram_picture(bars, LABELS) == histogram_picture(others, LABELS)


def test_steps_fall_where_their_times_are():
    line = next(one for one in ElementTree.fromstring(drawn()["steps"]).iter() if one.get("points"))
    places = [tuple(map(float, place.split(","))) for place in line.get("points", "").split()]
    assert places[0] == (60.0, 60.0)
    assert places[-1] == (420.0, 210.0)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert len(places) == 5


def test_a_group_without_a_box_is_left_out():
    assert drawn()["box plot"].count("<rect") == 1
    assert "nobody" not in drawn()["box plot"]


def test_bars_have_the_areas_of_their_shares():
    root = ElementTree.fromstring(drawn()["histogram"])
    bars = [element for element in root.iter() if element.tag.endswith("rect")]
    areas = np.array([float(bar.get("width", "")) * float(bar.get("height", "")) for bar in bars])
    bins = histogram(FOUND, 0)
    assert bins is not None
    assert areas / areas.sum() == pytest.approx(bins.shares[1:-1] / bins.shares[1:-1].sum(), abs=0.01)


def test_numbers_at_the_axes_have_three_digits_and_no_exponent():
    edges, shares = np.linspace(1341.0, 14_830.0, 12), np.full(13, 1 / 13)
    drawing = histogram_picture(replace(histogram(FOUND, 0), edges=edges, shares=shares), LABELS)
    texts = [
        element.text for element in ElementTree.fromstring(drawing).iter() if element.tag.endswith("text")
    ]
    assert {"1340", "14800", "0"} <= set(texts)
    assert "6.27e-05" in texts, "nobody wants to count its zeros"
