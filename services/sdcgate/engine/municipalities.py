"""The municipalities that a descriptor declares: checked against the regional variables, and as arrays."""

from collections.abc import Mapping

import numpy as np

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.descriptor import Descriptor, DescriptorProblem, Municipality
from sdcgate.methods.risk.release_rules import Municipalities

_SHOWN = 5


def check_municipalities(
    descriptor: Descriptor, code_lists: Mapping[str, tuple[LevelCodes, ...]]
) -> list[DescriptorProblem]:
    """What is wrong with them: each has a code, declared, of each regional variable that any of them has."""
    found: list[DescriptorProblem] = []
    regional = {variable.name for variable in descriptor.variables if variable.regional != "UNSPECIFIED"}
    wanted = set(_variables(descriptor.municipalities))
    for position, place in enumerate(descriptor.municipalities):
        path = f"municipalities[{position}]"
        if place.inhabitants < 0:
            found.append(DescriptorProblem(f"{path}.inhabitants", "must not be negative"))
        if not place.province:
            found.append(DescriptorProblem(f"{path}.province", "name the province"))
        given = [code.variable for code in place.codes]
        if sorted(given) != sorted(wanted):
            message = f"give one code of each of {', '.join(sorted(wanted))}"
            found.append(DescriptorProblem(f"{path}.codes", message))
        for number, code in enumerate(place.codes):
            where = f"{path}.codes[{number}]"
            if code.variable not in regional:
                message = f"{code.variable!r} is no variable that is declared regional"
                found.append(DescriptorProblem(f"{where}.variable", message))
            elif code.variable in code_lists and code.code not in code_lists[code.variable][0].valid:
                message = f"is no code of the finest level of {code.variable}"
                found.append(DescriptorProblem(f"{where}.code", message))
        if len(found) > _SHOWN:
            break
    return found


def municipality_arrays(
    descriptor: Descriptor, code_lists: Mapping[str, tuple[LevelCodes, ...]]
) -> Municipalities | None:
    """The municipalities as the rules for the release of files want them; None where none is declared.

    Variables are numbered as in the descriptor, codes as in their finest levels.
    """
    places = descriptor.municipalities
    if not places:
        return None
    names = [variable.name for variable in descriptor.variables]
    variables = _variables(places)
    finest = {name: code_lists[name][0].positions for name in variables}
    provinces = sorted({place.province for place in places})
    codes = [{code.variable: finest[code.variable][code.code] for code in place.codes} for place in places]
    return Municipalities(
        inhabitants=np.array([place.inhabitants for place in places], dtype=np.int64),
        provinces=np.array([provinces.index(place.province) for place in places], dtype=np.int64),
        variables=tuple(names.index(name) for name in variables),
        codes=np.array([[row[name] for name in variables] for row in codes], dtype=np.int64),
    )


def _variables(places: tuple[Municipality, ...]) -> list[str]:
    return sorted({code.variable for place in places for code in place.codes})
