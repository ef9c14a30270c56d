"""Budgets: how much may be asked of a source in a period, and when a period begins and ends."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

Period = Literal["hour", "day", "week", "month", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
Holder = Literal["researcher", "project", "dataset"]
HOLDERS: tuple[Holder, ...] = get_args(Holder)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be asked in one period; None is no limit."""

    period: Period
    queries: int | None = None
    cells: int | None = None


@dataclass(frozen=True, slots=True)
class Budgets:
    """What each researcher, each project, and everybody together may ask of one source."""

    researcher: tuple[Budget, ...] = ()
    project: tuple[Budget, ...] = ()
    dataset: tuple[Budget, ...] = ()

    def of(self, holder: Holder) -> tuple[Budget, ...]:
        """The budgets of one kind of holder."""
        found: tuple[Budget, ...] = getattr(self, holder)
        return found


UNLIMITED = Budgets()


def begun(period: Period, moment: datetime) -> datetime:
    """When the period that a moment lies in began. Weeks begin on Monday; all in the moment's time zone."""
    hour = moment.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match period:
        case "hour":
            return hour
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)


def renewed(period: Period, moment: datetime) -> datetime:
    """When the next period begins after that of a moment."""
    began = begun(period, moment)
    match period:
        case "hour":
            return began + timedelta(hours=1)
        case "day":
            return began + timedelta(days=1)
        case "week":
            return began + timedelta(weeks=1)
        case "month":
            return begun("month", began + timedelta(days=32))
        case "year":
            return began.replace(year=began.year + 1)
