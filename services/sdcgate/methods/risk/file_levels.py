"""Sections of a file's assessment about the levels above units: households and primary sampling units."""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.risk import household
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.file_report import HouseholdSection, IndividualSection, PsuSection
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.scenarios import NO_HOUSEHOLDS
from sdcgate.methods.risk.weights_channel import risk_by_weight


def household_section(
    units: UnitFile, individual: IndividualSection | None, options: Options
) -> HouseholdSection:
    """What it adds that who finds one member of a household finds them all."""
    if units.households is None:
        raise ValueError(NO_HOUSEHOLDS)
    if individual is None:
        raise ValueError("it needs the individual risks")
    found = household.household_risk(individual.risks, units.households)
    unsafe = household.unsafe_households(found, individual.risks, options.risk_threshold)
    return HouseholdSection(
        risk=household.hierarchical_file_risk(found),
        largest=int(found.sizes.max()),
        unsafe_households=int(unsafe.households.sum()),
        unsafe_units=int(unsafe.units.sum()),
        sizes=household.household_size_risk(
            found.sizes, _household_weights(units, found), options.risk_threshold
        ),
    )


def _household_weights(units: UnitFile, found: household.HouseholdRisks) -> FloatArray | None:
    """The smallest weight of each household's members: a smaller one is a larger risk."""
    if units.weights is None:
        return None
    smallest = np.full(len(found), np.inf)
    np.minimum.at(smallest, found.household, units.weights)
    return smallest


def psu_section(units: UnitFile, individual: IndividualSection | None) -> PsuSection | None:
    """What it adds that a file shows who lives in the same area; None where it has no PSUs.

    Who matches one unit of a PSU knows the PSU's area, and with it a key variable more of all others.
    """
    if units.psus is None:
        return None
    if individual is None or units.weights is None:
        raise ValueError("it needs the individual risks")
    found = household.household_risk(individual.risks, units.psus)
    known = risk_by_weight(units.codes, units.psus, units.weights)
    return PsuSection(
        psus=len(found),
        smallest=int(found.sizes.min()),
        largest=int(found.sizes.max()),
        located=float(found.risks.sum()),
        maximum=float(found.risks.max()),
        expected_matches=known.without.expected_matches,
        expected_matches_known=known.with_label.expected_matches,
    )
