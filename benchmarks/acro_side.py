"""ACRO's side of the comparison: runs in an environment of its own, under the orders of `against_acro.py`.

    python acro_side.py RECORDS

makes the records of `crosstab_records`, keeps them in memory, and for each line of standard input (count,
mean, three_way_mean, factors, numbers) runs that in a new session and prints the milliseconds that it took.
"""

import logging
import os
import sys
import time

os.environ.setdefault("MPLBACKEND", "Agg")
logging.disable(logging.CRITICAL)

from acro import ACRO  # noqa: E402

from crosstab_records import NUMBERS, make, with_numbers  # noqa: E402


def main() -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    records = with_numbers(make(int(sys.argv[1])))
    region, industry, sex, income = (records[name] for name in ("region", "industry", "sex", "income"))
    crosstabs = {
        "count": lambda: ACRO().crosstab(region, industry),
        "mean": lambda: ACRO().crosstab(region, industry, values=income, aggfunc="mean"),
        "three_way_mean": lambda: ACRO().crosstab([region, sex], industry, values=income, aggfunc="mean"),
        "factors": lambda: ACRO().olsr("income ~ C(sex) + C(size_class) + C(age_group)", records),
        "numbers": lambda: ACRO().olsr(f"income ~ C(sex) + C(age_group) + {' + '.join(NUMBERS)}", records),
    }
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        crosstabs[line.strip()]()
        print((time.perf_counter() - began) * 1000, file=answers, flush=True)


if __name__ == "__main__":
    main()
