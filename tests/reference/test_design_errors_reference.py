"""Errors by a survey's design against printed ones.

SAS Institute, SAS/STAT User's Guide, chapter The SURVEYREG Procedure, Getting Started: forty students of
grades 7 to 9, what they spend on ice cream a week, their household's income and the number of children in it;
tables Estimated Regression Coefficients of Simple Random Sampling and of Stratified Sampling. That procedure
multiplies variances by (n - 1) / (n - p), which we do not.
"""

import numpy as np
import pytest

from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.sandwich import Covariance, SurveyDesign
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

GRADE_SPENDING_INCOME_KIDS = """
7 7 39 2  7 7 38 1  8 12 47 1  9 10 47 4  7 1 34 4  7 10 43 2  7 3 44 4  8 20 60 3  8 19 57 4  7 2 35 2
7 2 36 1  9 15 51 1  8 16 53 1  7 6 37 4  7 6 41 2  7 6 39 2  9 15 50 4  8 17 57 3  8 14 46 2  9 8 41 2
9 8 41 1  9 7 47 3  7 3 39 3  7 12 50 2  7 4 43 4  9 14 46 3  8 18 58 4  9 9 44 3  7 2 37 1  7 1 37 2
7 4 44 2  7 11 42 2  9 8 41 2  8 10 42 2  8 13 46 1  7 2 40 3  9 6 45 1  9 11 45 4  7 2 36 1  7 9 46 1
"""
STUDENTS = np.array(GRADE_SPENDING_INCOME_KIDS.split(), dtype=np.int64).reshape(40, 4)
SAMPLED = {7: (20, 1824), 8: (9, 1025), 9: (11, 1151)}
KIDS = ("1", "2", "3", "4")


def fitted(weights: np.ndarray, survey: SurveyDesign) -> ModelEstimate:
    words = Vocabulary(
        (Categorical("kids", (Level("kids", KIDS),)),), (Measured("spending"), Measured("income"))
    )
    formula = parse_formula("spending ~ income + C(kids, reference='4')", words)
    records = Records(
        {("kids", "kids"): STUDENTS[:, 3] - 1},
        {"spending": STUDENTS[:, 1].astype(float), "income": STUDENTS[:, 2].astype(float)},
        40,
    )
    design = build_design(formula, words, {("kids", "kids"): KIDS})
    data = ModelData(
        design,
        matrix(design, words, records),
        records.measures["spending"],
        np.arange(40),
        weights=weights,
        survey=survey,
    )
    return fit_model(data, records, FitOptions(Family.LINEAR, Covariance.DESIGN))[0]


def test_errors_of_a_simple_random_sample_are_the_printed_ones() -> None:
    ours = fitted(np.full(40, 100.0), SurveyDesign(fractions=np.full(40, 40 / 4000)))
    printed = [-26.084677, 0.897655, 1.494032, -0.513181, 0.775330]
    np.testing.assert_allclose(ours.estimates, printed, atol=6e-7)
    printed_errors = [2.46720403, 1.12352876, 1.24705263, 1.33454891, 0.04304415]
    np.testing.assert_allclose(ours.standard_errors * np.sqrt(39 / 35), printed_errors, atol=6e-9)


def test_coefficients_of_a_stratified_sample_are_the_printed_ones_and_errors_those_of_binder() -> None:
    strata = STUDENTS[:, 0] - 7
    fractions = np.array([SAMPLED[grade][0] / SAMPLED[grade][1] for grade in STUDENTS[:, 0]])
    ours = fitted(1.0 / fractions, SurveyDesign(strata, None, fractions))
    printed = [-26.086882, 0.888631, 1.545726, -0.526817, 0.776699]
    np.testing.assert_allclose(ours.estimates, printed, atol=6e-7)
    assert ours.degrees == 40 - 3 - 5 + 1
    columns = np.column_stack([np.ones(40), *(STUDENTS[:, 3] == kids for kids in (1, 2, 3)), STUDENTS[:, 2]])
    residuals = STUDENTS[:, 1] - columns @ ours.estimates
    middle = np.zeros((5, 5))
    for stratum in range(3):
        here = strata == stratum
        scores = (columns * (residuals / fractions)[:, None])[here]
        about = scores - scores.mean(axis=0)
        middle += (1 - fractions[here][0]) * here.sum() / (here.sum() - 1) * about.T @ about
    bread = np.linalg.inv(columns.T @ (columns / fractions[:, None]))
    np.testing.assert_allclose(ours.standard_errors, np.sqrt(np.diag(bread @ middle @ bread)), rtol=1e-10)


def test_records_of_a_primary_unit_count_as_one() -> None:
    twice = np.repeat(np.arange(20), 2)
    ours = fitted(np.ones(40), SurveyDesign(clusters=twice))
    alone = fitted(np.ones(40), SurveyDesign())
    assert ours.degrees == alone.degrees - 20
    assert np.all(ours.standard_errors != pytest.approx(alone.standard_errors))
