"""`make docs`: no link, no anchor and no page is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def built(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--fail-on-warning", "--keep-going", "-d", str(site / "trees")]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(source), str(site / "html")],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(ROOT / "docs", folder)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_the_site_is_built_with_every_page_in_its_navigation(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    start = (site / "index.html").read_text(encoding="utf-8")
    lost = [
        str(page) for page in sorted(pages) if f'href="{page}.html"' not in start and page.name != "index"
    ]
    assert lost == []


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = [
        path.name
        for path in site.rglob("*.html")
        for text in [path.read_text(encoding="utf-8")]
        if 'src="http' in text or 'rel="stylesheet" href="http' in text or 'rel="preconnect"' in text
    ]
    assert loaded == []


@pytest.mark.parametrize(
    "fault",
    ["[nothing](nowhere.md)", "[no heading](index.md#no-such-heading)", ""],
    ids=["link", "anchor", "page"],
)
def test_what_leads_nowhere_is_an_error(tmp_path: Path, fault: str) -> None:
    (tmp_path / "docs/static").mkdir(parents=True)
    (tmp_path / "docs/conf.py").write_text((ROOT / "docs/conf.py").read_text())
    (tmp_path / "docs/index.md").write_text(f"# Start\n\n{fault}\n")
    if not fault:
        (tmp_path / "docs/lost.md").write_text("# Lost\n")
    done = built(tmp_path / "docs", tmp_path)
    assert done.returncode != 0
    assert "WARNING" in done.stderr
