"""Sample uniques of a file against the population; models of its keys are in `file_models`."""

from sdcgate.methods.risk import uniqueness
from sdcgate.methods.risk.file_options import NO_WEIGHTS
from sdcgate.methods.risk.file_report import NotComputed, UniquenessSection
from sdcgate.methods.risk.keys import Keys
from sdcgate.methods.risk.microdata import UnitFile


def uniqueness_section(units: UnitFile, keys: Keys, missing: list[NotComputed]) -> UniquenessSection:
    """theta_U by the design, beside three models of the population's frequencies."""
    weights, fraction = units.weights, units.fraction
    if weights is None or fraction is None:
        raise ValueError(NO_WEIGHTS)
    by_design = None
    try:
        by_design = uniqueness.theta_u(keys, weights)
    except ValueError as error:
        missing.append(NotComputed("theta_U by the design", str(error)))
    return UniquenessSection(by_design, uniqueness_models(keys, fraction, missing))


def uniqueness_models(
    keys: Keys, fraction: float, missing: list[NotComputed]
) -> tuple[uniqueness.Uniqueness, ...]:
    """The models of the population's frequencies that fit; those that do not are added to `missing`."""
    sizes, numbers = uniqueness.sizes_of(keys)
    found = []
    for name, model in (
        ("gamma", uniqueness.gamma_model),
        ("log-normal", uniqueness.lognormal_model),
        ("Poisson-Dirichlet", uniqueness.poisson_dirichlet_model),
    ):
        try:
            found.append(model(sizes, numbers, fraction))
        except (ValueError, ArithmeticError) as error:
            missing.append(NotComputed(f"uniqueness by the {name} model", str(error)))
    return tuple(found)
