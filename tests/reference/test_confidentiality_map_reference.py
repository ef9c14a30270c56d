"""The map of a normal variable in classes against Max's quantisers of least mean squared error."""

import numpy as np
import pytest

from sdcgate.methods.risk.confidentiality_map import global_recoding

# Max, Quantizing for minimum distortion, IRE Transactions on Information Theory 6 (1960), Table I: cut-offs
# above 0 (0 itself where the number of classes is even) and the mean squared error, as printed.
QUANTISERS = {
    2: ((), 0.3634),
    3: ((0.6120,), 0.1902),
    4: ((0.9816,), 0.1175),
    5: ((0.3823, 1.244), 0.07994),
    6: ((0.6589, 1.447), 0.05798),
    7: ((0.2803, 0.8744, 1.611), 0.04400),
    8: ((0.5006, 1.050, 1.748), 0.03454),
}


@pytest.mark.parametrize("classes", QUANTISERS)
def test_risk_is_one_over_the_least_error_and_utility_what_the_error_leaves(classes):
    above, error = QUANTISERS[classes]
    middle = [0.0] if classes % 2 == 0 else []
    cut_offs = np.sort(np.array([*(-one for one in above), *middle, *above]))
    found = global_recoding(cut_offs)
    assert len(cut_offs) == classes - 1
    assert 1 / found.risk == pytest.approx(error, rel=3e-4)
    assert found.utility == pytest.approx(1 - error, abs=1e-5 if classes > 4 else 6e-5)
