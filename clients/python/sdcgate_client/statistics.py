"""A statistic of groups as it left the facility."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sdcgate_client.errors import UnexpectedAnswer

if TYPE_CHECKING:
    import pandas

WITHHELD = "WITHHELD"


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its code of each variable, what became of it, and the figures that it shows."""

    codes: tuple[str, ...]
    status: str
    figures: Mapping[str, float | str]
    unreliable: bool = False
    """Whether the estimate is too uncertain to be used; of percentiles, any of them."""
    unreliable_figures: frozenset[str] = frozenset()
    """Names of the percentiles that are."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of a curve or a scatter; of a histogram `y` are the shares of the bins around the edges `x`."""

    group: int
    name: str
    x: tuple[float, ...] = field(repr=False)
    y: tuple[float, ...] = field(repr=False)
    units: tuple[int, ...] = field(default=(), repr=False)
    """Units of each hexagon."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of groups with limited digits, its curves, and drawings as SVG or PNG."""

    kind: str
    measure: str
    variables: tuple[str, ...]
    """Variables that make the groups; none where there is one group."""
    groups: tuple[Group, ...]
    curves: tuple[Curve, ...] = ()
    pictures: tuple[str, ...] = field(default=(), repr=False)
    weighted: bool = False
    png: tuple[bytes, ...] = field(default=(), repr=False)
    """The drawings as PNG, where that was asked for."""
    not_drawn: tuple[int, ...] = ()
    """Places of the groups of which there is no drawing, where drawings were asked for."""
    not_drawn_because: str = ""
    """Why there is none of these, or none at all."""

    @property
    def withheld(self) -> int:
        """Number of groups that show nothing."""
        return sum(group.status == WITHHELD for group in self.groups)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures that any group shows, in order."""
        return tuple(dict.fromkeys(name for group in self.groups for name in group.figures))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Statistic":
        """Reads `{"kind": ..., "dimensions": [...], "statuses": [...], "figures": [...]}`.

        Raises:
            UnexpectedAnswer: something is missing, or figures are of groups that are not there.
        """
        try:
            return cls._read(content)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise UnexpectedAnswer(f"the statistic cannot be read: {type(error).__name__} {error}") from error

    @classmethod
    def _read(cls, content: Mapping[str, Any]) -> "Statistic":
        dimensions = content.get("dimensions") or []
        statuses = content["statuses"]
        shown: list[dict[str, float | str]] = [{} for _ in statuses]
        uncertain: list[set[str]] = [set() for _ in statuses]
        for figure in content.get("figures") or ():
            values = figure.get("codes") or figure.get("values") or []
            for group, value in zip(figure["groups"], values, strict=True):
                shown[group][str(figure["name"])] = value
            for group in figure.get("unreliable") or ():
                uncertain[group].add(str(figure["name"]))
        flagged = set(content.get("unreliable") or ())
        groups = tuple(
            Group(
                tuple(str(one["codes"][one["cells"][place]]) for one in dimensions),
                str(status),
                shown[place],
                place in flagged,
                frozenset(uncertain[place]),
            )
            for place, status in enumerate(statuses)
        )
        curves = tuple(
            Curve(
                int(one["group"]),
                str(one["name"]),
                *(tuple(one.get(name) or ()) for name in ("x", "y", "units")),
            )
            for one in content.get("curves") or ()
        )
        return cls(
            kind=str(content["kind"]),
            measure=str(content.get("measure") or ""),
            variables=tuple(str(one["variable"]) for one in dimensions),
            groups=groups,
            curves=curves,
            pictures=tuple(str(one["svg"]) for one in content.get("pictures") or ()),
            weighted=bool(content.get("weighted")),
            png=tuple(
                b64decode(one["png"], validate=True)
                for one in content.get("pictures") or ()
                if one.get("png")
            ),
            not_drawn=tuple(map(int, content.get("not_drawn") or ())),
            not_drawn_because=str(content.get("not_drawn_because") or ""),
        )

    def curves_to_pandas(self) -> "pandas.DataFrame":
        """A row a point of a curve: the group's codes, the curve's name, `x` and `y`.

        A histogram has a share more than it has edges: its last one has no `x`.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        rows = [
            (*self.groups[curve.group].codes, curve.name, x, y)
            for curve in self.curves
            for x, y in zip_longest(curve.x, curve.y)
        ]
        return pandas.DataFrame(rows, columns=[*self.variables, "curve", "x", "y"])

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a group: its codes, the figures, `unreliable` and `status`.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        rows = [
            dict(zip(self.variables, group.codes, strict=True))
            | {name: group.figures.get(name) for name in self.figures}
            | {"unreliable": group.unreliable, "status": group.status}
            for group in self.groups
        ]
        frame = pandas.DataFrame(rows)
        numbers = [name for name in self.figures if name != "mode"]
        return frame.astype(dict.fromkeys(numbers, "Float64"))
