"""What jobs print, read as tables and models of the RAND file: what fits, what does not, what harms."""

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from house import RANDHIE, build
from printed_results import COUNTS, MEANS, SUMS, acro_folder, entry, whole_folder, zipped
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.results.acro_commands import read_command
from sdcgate.facility.results.folder import MAXIMUM_FILES, unpack
from sdcgate.facility.results.reading import read_results
from sdcgate_proto.sdcgate.types.v1 import model_pb2

yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    house = build(tmp_path_factory.mktemp("house"))
    house.engine.register(parse_descriptor(yaml.safe_load(RANDHIE.read_text())))
    yield house.engine.dataset("randhie")
    house.facility.close()


def read(dataset, files):
    return read_results(
        dataset, {name: data if isinstance(data, bytes) else data.encode() for name, data in files.items()}
    )


def one(dataset, files):
    (output,) = read(dataset, files).outputs
    return output


def problems(dataset, files):
    output = one(dataset, files)
    assert output.output is output.model is output.table is None
    return " ".join(output.problems)


def crosstab(dataset, csv, command="crosstab(df.site, df.female)", **more):
    folder = acro_folder({"o": {**entry("table", ["t.csv"], command), **more}}, t__csv=csv)
    return read(dataset, folder).outputs


@pytest.mark.parametrize("version", ["0.4.12", "1.0.2"])
def test_acros_tables_are_read_with_the_variables_that_its_header_leaves_out(dataset, version):
    results = read(dataset, whole_folder(version))
    counts, sums, chart = results.outputs
    assert [(d.variable, list(d.codes)) for d in (*counts.output.rows, *counts.output.columns)] == [
        ("site", ["1", "2", "3", "4", "5", "6"]),
        ("female", ["0", "1"]),
    ]
    assert list(counts.output.facts.records)[:3] == [2150, 2312, 2011]
    assert sums.output.rows[0].codes[-1] == "_T"
    assert [c.variable for c in sums.output.filter] == ["site", "female"]  # totals over known codes
    assert sums.output.facts.measures[0].sums[2] == 896423.4674769
    assert chart.problems == ("Outputs of the type 'custom' cannot be computed again.",)


@pytest.mark.parametrize(
    ("entry_of", "told"),
    [
        (
            {"type": "table", "properties": {"method": "surv func"}},
            "'survival table' cannot be computed again. Ask KAPLAN_MEIER",
        ),
        (
            {"type": "survival plot", "properties": {}},
            "'survival plot' cannot be computed again. Ask KAPLAN_MEIER",
        ),
        ({"type": "histogram"}, "'histogram' cannot be computed again. Ask HISTOGRAM"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_of_survival_and_drawings_it_is_said_what_can_be_asked_instead(dataset, entry_of, told):
    """As ACRO 1.0.2 writes them: its tables of survival have the type of other tables."""
    folder = acro_folder(
        {"o": {**entry("table", ["t.csv"], ""), **entry_of}}, t__csv="Time,Surv prob\n1,0.9\n"
    )
    assert told in problems(dataset, folder)


def test_a_header_of_statistics_is_an_output_each_and_suppressed_cells_stay_out(dataset):
    mean, count = crosstab(
        dataset, MEANS, 'crosstab(df.site, df.female, values=df.meddol, aggfunc=["mean", "count"])'
    )
    assert (mean.part, count.part) == ("MEAN of meddol", "RECORDS")
    assert len(mean.output.facts.measures[0].sums) == len(count.output.facts.records) == 5
    assert list(mean.output.rows[0].cells) == [0, 0, 1, 1, 2]


def test_columns_of_the_file_and_labels_of_codes_stand_for_variables_and_codes(dataset):
    (table,) = crosstab(dataset, "site,male,female\nDayton,1,2\nSeattle,3.0,4\n")
    assert list(table.output.rows[0].codes) == ["1", "2"]
    assert list(table.output.columns[0].codes) == ["0", "1"]
    (aged,) = crosstab(dataset, "xage,0.0,1.0\n0-17,1,2\n18-39,1,2\n", "crosstab(df.xage, df.female)")
    assert (aged.output.rows[0].variable, aged.output.rows[0].level) == ("age", "broad")


@pytest.mark.parametrize(
    ("csv", "command", "told"),
    [
        (COUNTS, "crosstab(df.site, df.ward)", "'ward' is no variable of randhie"),
        (COUNTS, "", "does not say which variable its columns are"),
        (COUNTS, 'crosstab(df.site, df.female, values=df.meddol, aggfunc="skew")', "skew cannot be computed"),
        (COUNTS, 'crosstab(df.site, df.female, values=df.wealth, aggfunc="sum")', "'wealth' is no measure"),
        (COUNTS, "crosstab(df.site, df.female, normalize=how)", "shares that are not of records"),
        ("site,0,1\n1,.5,.5\n1,.4,.6\n", "crosstab(df.site, df.female, normalize=1)", "names a cell twice"),
        ("ward,0,1\na,1,2\n", "crosstab(df.ward, df.female)", "'ward', is no variable"),
        ("site,0,1\n1,1.5,2\n", "crosstab(df.site, df.female)", "must be whole numbers"),
        ("site,0,1\n1,1e308,2\n", "crosstab(df.site, df.female)", "must be at most 9007199254740992"),
        ("site,0\n1,1e308\n", "crosstab(df.site, df.female, normalize=1)", "shares that are too large"),
        ("site,0,1\n1,inf,2\n", "crosstab(df.site, df.female)", "Row 2, column 2 is not a finite number"),
        ("site,0,1\n1,many,2\n", "crosstab(df.site, df.female)", "Row 2, column 2 is no number"),
        ("site,0,1\n1,,\n", "crosstab(df.site, df.female)", "all its cells are empty"),
        ("site,0,1\n1,1\n", "crosstab(df.site, df.female)", "Row 2 has 2 cells, the first has 3"),
        ("site,0,1\n1,1,2\n1,1,2\n", "crosstab(df.site, df.female)", "name a cell twice"),
        ("site,0,1\n=cmd|' /C calc'!A0,1,2\n", "crosstab(df.site, df.female)", "run as a formula"),
        (b"site,0,1\n\xff,1,2\n", "crosstab(df.site, df.female)", "no UTF-8 text (byte 10)"),
        (b"site,0,1\n\0,1,2\n", "crosstab(df.site, df.female)", "NUL"),
        (b"", "crosstab(df.site, df.female)", "It is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_mapped_is_told_and_left_to_a_checker(dataset, csv, command, told):
    (output,) = crosstab(dataset, csv, command)
    assert output.output is None
    assert told in " ".join(output.problems)


def test_an_output_whose_file_was_changed_is_absent_or_lies_elsewhere_is_unread(dataset):
    folder = whole_folder()
    changed = read(dataset, folder | {"output_0_0.csv": SUMS.encode()}).outputs[0]
    assert "its checksum differs" in changed.problems[0]
    absent = {name: content for name, content in folder.items() if name != "output_0_0.csv"}
    assert read(dataset, absent).outputs[0].problems == ("output_0_0.csv is not there.",)
    elsewhere = acro_folder({"o": entry("table", ["../../etc/passwd"], "")})
    assert "within its folder" in problems(dataset, elsewhere)
    twice = acro_folder(
        {uid: entry("table", ["t.csv"], "crosstab(df.site, df.female)") for uid in "ab"}, t__csv=COUNTS
    )
    first, second = read(dataset, twice).outputs
    assert first.output is not None
    assert "another output has it" in second.problems[0]
    assert "names no file" in problems(dataset, acro_folder({"o": {"files": 7}}))
    assert "of ACRO '9'" in problems(dataset, {"results.json": json.dumps({"version": 9, "results": {}})})


FEMALE = ",coef,std err\nfemale,1,2\n"


def regression(general, coefficients, method="olsr", names=("g.csv", "c.csv")):
    one = entry("regression", list(names), "acro.olsr(...)", method=method, dof=20)
    return acro_folder({"o": one}, g__csv=general, c__csv=coefficients)


def test_a_regression_is_the_formula_that_its_coefficients_are_of(dataset):
    general = "Dep. Variable:,meddol,,\nCovariance Type:,nonrobust,,\n"
    rows = [
        "C(site)[T.2],1,2",
        "C(site)[T.3],1,2",
        "female,1,2",
        "np.log1p(income),1,2",
        "female:income,-1,2",
    ]
    fit = one(dataset, regression(general, "\n".join([",coef,std err", "Intercept,31.4,13.8", *rows])))
    assert fit.model.kind == model_pb2.MODEL_KIND_LINEAR
    assert fit.model.formula == (
        'meddol ~ 1 + C(site, reference="1") + numeric(female) + log1p(income) + numeric(female):income'
    )
    assert fit.estimates.columns["estimate"]["site[T.2]"] == 1
    assert fit.estimates.columns["estimate"]["income:numeric(female)"] == -1
    event = one(dataset, regression("Dep. Variable:,hlthp,,\n", ",coef,std err\nfemale,0.5,0.1\n", "logit"))
    long = ":".join(["female"] * 500)
    assert "at most 2000 characters" in problems(dataset, regression(general, f",coef,std err\n{long},1,2\n"))
    assert event.model.formula == 'C(hlthp, event="1") ~ 0 + numeric(female)'


@pytest.mark.parametrize(
    ("general", "coefficients", "method", "told"),
    [
        ("Dep. Variable:,meddol,,\n", ",coef,std err\nward,1,2\n", "ols", "'ward' is neither a measure"),
        ("Dep. Variable:,meddol,,\n", ",coef,std err\nC(site)[T.9],1,2\n", "ols", "'9' is no code of site"),
        ("Dep. Variable:,meddol,,\n", ",coef,std err\nbs(income),1,2\n", "ols", "of no term that is known"),
        ("Dep. Variable:,meddol,,\n", FEMALE, "rlm", "method 'rlm' are not fitted"),
        ("Dep. Variable:,site,,\n", FEMALE, "logit", "with the codes 0 and 1"),
        ("Dep. Variable:,meddol,,\nCovariance Type:,HC1,,\n", FEMALE, "ols", "errors are 'HC1'"),
        ("Model:,OLS,,\n", FEMALE, "ols", "do not show the dependent variable"),
    ],
)  # fmt: skip
def test_a_regression_that_cannot_be_fitted_again_says_why(dataset, general, coefficients, method, told):
    assert told in problems(dataset, regression(general, coefficients, method))


def test_commands_are_parsed_and_never_run():
    named = read_command(
        't = acro.pivot_table(df, values=["a"], index=["b", "c"], columns=d["e"], margins_name="T")'
    )
    assert (named.index, named.columns, named.values, named.total) == (("b", "c"), ("e",), ("a",), "T")
    assert named.statistics == ("mean",)
    for text in ("__import__('os').system('x')", "crosstab(", "((((" * 3000, "\0", ""):
        assert read_command(text).method == ""


SIDE = "rows: [site]\ncolumns: [female]\nstatistic: records\n"


def test_a_side_file_says_what_a_table_is(dataset):
    crossed = read(dataset, {"t.csv": COUNTS, "t.yaml": SIDE + 'filter: {year: ["1"]}\ndataset: randhie\n'})
    (table,) = crossed.outputs
    assert crossed.not_outputs == ("t.yaml",)
    assert list(table.output.facts.records)[:2] == [2150, 2312]
    assert table.output.filter[0].variable == "year"
    side = {
        "rows": ["site", "age:broad"],
        "figures": {"n": "units", "average": "mean:income"},
        "total": "all",
    }
    cells = "site,age,n,average\n1,0-17,10,5.5\n1,all,30,*\n,0-17,7,4\n"
    units, means = read(dataset, {"t.csv": cells, "t.csv.json": json.dumps(side)}).outputs
    assert list(units.output.facts.units) == [10, 30, 7]
    assert list(units.output.rows[0].codes) == ["1", "_U"]
    assert list(means.output.facts.measures[0].sums) == [5.5, 4]


@pytest.mark.parametrize(
    ("side", "told"),
    [
        (None, "No side file t.yaml says what it is."),
        ("a: [", "no YAML"),
        ("- a", "must be an object"),
        ("rows: &a [site]\ncolumns: *a\n", "aliases"),
        ("x" * 70_000, "more than 65536 bytes"),
        (SIDE + "color: red\n", "color: is not known"),
        (SIDE + "dataset: other\n", "dataset: is not randhie"),
        (SIDE + "filter: [1]\n", "filter: must name codes"),
        ("rows: site\ncolumns: [female]\nstatistic: records\n", "rows: must be a list"),
        ("rows: [site]\ncolumns: [female]\nstatistic: mode\n", "statistic: must be units"),
        ("rows: [site]\ncolumns: [female]\n", "statistic: is needed"),
        ("rows: [site]\nfigures: {n: records}\n", "no column 'n'"),
        (
            "rows: [site, year]\ncolumns: [female, plan]\nstatistic: records\n",
            "at least 3 columns and 3 rows",
        ),
    ],
)
def test_what_is_wrong_with_a_side_file_is_told(dataset, side, told):
    files = {"t.csv": "site,0,1\n1,a,2\n"} | ({"t.yaml": side} if side is not None else {})
    assert told in problems(dataset, files)


def test_a_variable_goes_by_the_name_of_the_files_column_too(dataset):
    cells = "xage,n\n0-17,10\n18-39,30\n"
    for name in ("xage", "age", "xage:broad", "age:broad"):
        side = f'rows: ["{name}"]\nfigures: {{n: units}}\nfilter: {{"xage:broad": [0-17, 18-39]}}\n'
        asked = one(dataset, {"t.csv": cells, "t.yaml": side}).output
        assert [(d.variable, d.level, [*d.codes]) for d in (*asked.rows, *asked.filter)] == [
            ("age", "broad", ["0-17", "18-39"])
        ] * 2


TOTALS_DOWN = "site,xage,0,1,All\n1,0-17,1,2,3\n,18-39,4,5,9\n2,0-17,6,7,13\nAll,,11,14,25\n"


def test_blanks_beside_a_total_are_totals_and_not_what_stands_above(dataset):
    side = 'rows: [site, "age:broad"]\ncolumns: [female]\nstatistic: records\n'
    tables = [
        one(dataset, {"t.csv": TOTALS_DOWN, "t.yaml": side}),
        *crosstab(dataset, TOTALS_DOWN, "crosstab([df.site, df.xage], df.female, margins=True)"),
    ]
    for table in tables:
        codes = [[d.codes[place] for place in d.cells] for d in (*table.output.rows, *table.output.columns)]
        assert list(zip(*codes, strict=True))[3::3] == [
            ("1", "18-39", "0"),
            ("2", "0-17", "0"),
            ("_T", "_T", "0"),
        ]


def workbook(sheets, write_only=False):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=write_only)
    if not write_only:
        book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_excel_sheets_are_read_and_formulas_are_not(dataset):
    rows = [["site", 0, 1], [1, 2150, 2312], [2, 2011, None]]
    table = one(dataset, {"t.xlsx": workbook({"one": rows}), "t.yaml": SIDE})
    assert list(table.output.facts.records) == [2150, 2312, 2011]
    two = workbook({"one": rows, "two": rows})
    assert "name one as `sheet`" in problems(dataset, {"t.xlsx": two, "t.yaml": SIDE})
    table, rest = read(dataset, {"t.xlsx": two, "t.yaml": SIDE + "sheet: two\n"}).outputs
    assert table.output is not None
    assert (rest.part, rest.output) == ("beside the table", None)
    assert rest.problems == ("The workbook also has 1 other sheet, which are not read.",)
    formula = workbook({"one": [["site", 0], [1, "=1+1"]]})
    assert "holds formulas" in problems(dataset, {"t.xlsx": formula, "t.yaml": SIDE})
    assert "no whole Excel file" in problems(dataset, {"t.xlsx": two[:2000], "t.yaml": SIDE})
    assert "no Excel file" in problems(dataset, {"t.xlsx": b"text", "t.yaml": SIDE})


@pytest.mark.parametrize("first", [True, False])
def test_a_table_beside_a_chart_is_read_and_the_chart_is_left_to_a_checker(dataset, first):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(
        io.BytesIO(workbook({"one": [["site", 0, 1], [1, 2150, 2312], [2, 2011, None]]}))
    )
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book["one"], min_col=2, min_row=1, max_row=3))
    book.create_chartsheet("drawn", 0 if first else 1).add_chart(chart)
    content = io.BytesIO()
    book.save(content)
    table, rest = read(dataset, {"t.xlsx": content.getvalue(), "t.yaml": SIDE}).outputs
    assert list(table.output.facts.records) == [2150, 2312, 2011]
    assert (table.part, rest.part, rest.files) == ("", "beside the table", ("t.xlsx", "t.yaml"))
    assert "2 charts" in rest.problems[0]
    assert "is a chart" in problems(
        dataset, {"t.xlsx": content.getvalue(), "t.yaml": SIDE + "sheet: drawn\n"}
    )


def test_labels_that_excel_merged_are_those_on_the_left(dataset):
    rows = [
        ["female", 0, None, 1, None, "All"],
        ["age", "0-17", "18-39", "0-17", "18-39", None],
        ["site", None, None, None, None, None],
        [1, 10, 20, 30, 40, 100],
        [2, 11, 21, 31, 41, 104],
    ]
    side = 'rows: [site]\ncolumns: [female, "age:broad"]\nstatistic: records\n'
    table = one(dataset, {"t.xlsx": workbook({"one": rows}), "t.yaml": side})
    codes = [[d.codes[place] for place in d.cells] for d in (*table.output.rows, *table.output.columns)]
    assert list(zip(*codes, strict=True))[:5] == [
        ("1", "0", "0-17"),
        ("1", "0", "18-39"),
        ("1", "1", "0-17"),
        ("1", "1", "18-39"),
        ("1", "_T", "_T"),
    ]


def test_cells_that_a_program_left_out_at_the_end_of_an_excel_row_are_empty(dataset):
    book = workbook({"one": [["site", 0, 1], [1, 2150, 2312], [2, 2011], [3, 1198, 1238]]}, write_only=True)
    table = one(dataset, {"t.xlsx": book, "t.yaml": SIDE})
    assert list(table.output.facts.records) == [2150, 2312, 2011, 1198, 1238]
    wide = workbook({"one": [["site", *range(2000)], *[[1]] * 600]}, write_only=True)
    assert "more than 1000000 cells" in problems(dataset, {"t.xlsx": wide, "t.yaml": SIDE})


def test_our_own_json_is_what_the_routes_take(dataset):
    output = {"rows": [{"variable": "site", "codes": ["1", "2"]}], "facts": {"units": [100, 200]}}
    model = {"kind": "LINEAR", "formula": "meddol ~ site"}
    table = {"rows": [{"variable": "site"}], "margins": True}
    found = {}
    for name, body in (("o", output), ("m", model), ("t", table)):
        found[name] = one(dataset, {f"{name}.json": json.dumps(body)})
    assert found["o"].output.dataset == found["m"].model.dataset == found["t"].table.dataset == "randhie"
    assert "facts.units: must have 2 values" in problems(
        dataset, {"o.json": json.dumps(output | {"facts": {"units": [1]}})}
    )
    for body in ("{}", "[]", "{", "null", '{"dataset": "other", "facts": {}}', '{"facts": {"units": [NaN]}}'):
        assert problems(dataset, {"o.json": body})


def test_files_of_unknown_kinds_are_each_an_output_for_a_checker(dataset):
    results = read(dataset, {"chart.png": b"\x89PNG", "notes.txt": b"hello", "model.pkl": b"\x80"})
    assert [output.name for output in results.outputs] == ["chart.png", "notes.txt", "model.pkl"]
    assert all("are not read" in output.problems[0] for output in results.outputs)


def refused(content, name=""):
    with pytest.raises(InvalidRequest) as error:
        unpack(name, content)
    return " ".join(map(str, error.value.problems))


def test_archives_are_taken_within_limits_and_their_names_stay_inside():
    assert unpack("", zipped({"job/a.csv": b"1", "job/b/c.csv": b"2"})) == {"a.csv": b"1", "b/c.csv": b"2"}
    assert unpack("t.csv", b"1") == {"t.csv": b"1"}
    for name in ("../a", "/a", "a/../b", "a//b", "c:a", "a\\b", "a\nb", "./a"):
        assert "must have a name" in refused(zipped({name: b"1"}))
    assert "more than" in refused(
        zipped({f"{n}.csv": b"0" * (40 << 20) for n in "ab"})
    )  # a few KB when packed
    assert "holds 1001 files" in refused(zipped({f"f{n}": b"" for n in range(MAXIMUM_FILES + 1)}))
    assert "holds no file" in refused(zipped({}))
    assert "name of another file" in refused(zipped({"a.csv": b"", "A.csv": b""}))
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "is a link" in refused(content.getvalue())


def test_an_archive_that_says_less_than_it_holds_is_none():
    whole = zipped({"a.csv": b"0" * 100_000})
    size = (100_000).to_bytes(4, "little")
    assert "no whole zip archive" in refused(whole.replace(size, (10).to_bytes(4, "little")))
    assert "no whole zip archive" in refused(whole[:-10])
    assert "no whole zip archive" in refused(b"PK\x03\x04" + b"\0" * 50)


@given(st.data())
def test_a_damaged_archive_is_read_or_clearly_refused(data):
    whole = bytearray(zipped({"a.csv": b"0,1,2\n" * 50, "b/c.yaml": b"rows: 3\n" * 9}))
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[place] = data.draw(st.integers(0, 255))
    try:
        files = unpack("", bytes(whole))
    except InvalidRequest:
        return
    assert 1 <= len(files) <= 2  # a damaged name may be that of a folder


def test_a_member_whose_packed_bytes_are_damaged_is_no_whole_archive():
    whole = zipped({"a.csv": b"0,1,2\n" * 50})
    begin = whole.index(b"a.csv") + len("a.csv")
    assert "no whole zip archive" in refused(whole[:begin] + b"\xff" * 4 + whole[begin + 4 :])


def test_a_member_without_a_name_is_told():
    assert "results[0]: must have a name" in refused(zipped({"a": b"1"}).replace(b"a", b"\0"))


def test_a_level_that_a_side_file_misspells_is_told(dataset):
    side = 'rows: ["age:brod"]\nfigures: {n: records}\n'
    told = problems(dataset, {"t.csv": "age,n\n1,20\n2,30\n", "t.yaml": side})
    assert told.startswith("There is an unknown level of age 'brod'; did you mean 'broad'")


def test_a_regression_without_a_dependent_variable_says_so(dataset):
    told = problems(dataset, regression("Dep. Variable:\n", ",coef,std err\nfemale,0.5,0.1\n"))
    assert told == "Its files do not show the dependent variable and the coefficients."
