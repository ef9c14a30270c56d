"""The snippets of a page, run one after the other against a real house, as its reader would run them.

A page has a folder and an environment of its own. What a shell snippet exports holds for those after it, of
whatever language. A descriptor or a policy that is shown lies in the folder as `<name>.yaml`.
`<!-- skip: next "why" -->` leaves a snippet out; `<!-- schema: Decision -->` names the schema of the JSON
that follows; `<!-- output -->` says that the text that follows is what the snippet before it printed.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer

from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.descriptor_checks import check_descriptor
from sdcgate.policy import parse_policy
from sdcgate.policy.examples import load_examples
from sdcgate.servers.openapi import document as openapi
from served_house import ServedHouse

ROOT = Path(__file__).parents[1]
TIME_LIMIT = 300
NOT_COMPARED = re.compile(r"q-[0-9A-Z]{26}|\b[0-9a-f]{8,64}(?:\.\.|\b)|event \d+|20\d\d-\d\d-\d\d[T\d:.Z]*")
"""Ids, digests, places in the ledger and dates are others each time."""


class Snippets:
    """Runs the pages of a house that is served."""

    def __init__(self, house: ServedHouse, key: str, folder: Path) -> None:
        self._house, self._key, self._folder = house, key, folder
        self._api = json.loads(openapi())
        languages = {
            "sh": self._shell,
            "python": self._python,
            "javascript": self._javascript,
            "json": self._json,
            "yaml": self._yaml,
            "text": self._text,
        }
        self._sybil = Sybil(
            [
                SkipParser(),
                *(CodeBlockParser(language, evaluate) for language, evaluate in languages.items()),
                Directives("schema"),
                Directives("output"),
            ]
        )

    def parse(self, page: Path) -> Document:
        """The page and its examples; nothing is run yet."""
        document = self._sybil.parse(page)
        folder = self._folder / "-".join(page.relative_to(ROOT).with_suffix("").parts)
        folder.mkdir()
        (folder / ".curlrc").write_text("fail-with-body\nshow-error\n")
        (folder / ".venv").symlink_to(ROOT / ".venv")
        (folder / "services").symlink_to(ROOT / "services")
        (folder / "var").mkdir()
        (folder / "var/demo").symlink_to(self._house.settings.state_dir)
        document.namespace |= {"folder": folder, "printed": "", "python": {}, "schema": "", "output": False}
        document.namespace["environment"] = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SDCGATE_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CURL_HOME": str(folder),
            "COLUMNS": "120",
            "SDCGATE_URL": self._house.supervisor.url,
            "SDCGATE_API_KEY": self._key,
            "SDCGATE_STATE_DIR": str(self._house.settings.state_dir),
            "SDCGATE_DATA_ROOT": str(self._house.settings.data_root),
        }
        return document

    def _adapted(self, text: str) -> str:
        """A snippet with the address and the key of this house."""
        text = text.replace("http://127.0.0.1:8080", self._house.supervisor.url)
        for service, port in {"gateway": 9480, "facility": 9440, "risk": 9441, "protection": 9442}.items():
            text = text.replace(f"http://127.0.0.1:{port}", self._house.metrics_address(service))
        for service, port in {"facility": 7440, "risk": 7441, "protection": 7442}.items():
            text = text.replace(f"127.0.0.1:{port}", self._house.supervisor.addresses[service])
        return text.replace("sdcg_...", self._key)

    def _shell(self, example: Example) -> None:
        state = "; export -p > .state; declare -p PWD > /dev/null"
        script = f"set -euo pipefail\nset -a\n{self._adapted(example.parsed)}\nset +a{state}\n"
        self._run(example, ["bash", "-c", script])
        exported = subprocess.run(
            ["bash", "-c", ". ./.state; env -0"],
            cwd=example.namespace["folder"],
            capture_output=True,
            text=True,
            check=True,
        )
        pairs = (line.split("=", 1) for line in exported.stdout.split("\0") if "=" in line)
        example.namespace["environment"] = dict(pairs)

    def _javascript(self, example: Example) -> None:
        if not shutil.which("node"):
            return
        path = example.namespace["folder"] / "snippet.mjs"
        path.write_text(self._adapted(example.parsed))
        self._run(example, ["node", str(path)])

    def _run(self, example: Example, command: list[str]) -> None:
        ran = subprocess.run(
            command,
            cwd=example.namespace["folder"],
            env=example.namespace["environment"],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        example.namespace["printed"] = ran.stdout
        assert ran.returncode == 0, f"{_place(example)}\n{ran.stdout}{ran.stderr}"

    def _python(self, example: Example) -> None:
        code = compile(self._adapted(example.parsed), _place(example), "exec")
        printed = io.StringIO()
        before, environment = Path.cwd(), dict(os.environ)
        try:
            os.chdir(example.namespace["folder"])
            os.environ.update(example.namespace["environment"])
            with contextlib.redirect_stdout(printed):
                exec(code, example.namespace["python"])
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
        example.namespace["printed"] = printed.getvalue()

    def _json(self, example: Example) -> None:
        value = json.loads(example.parsed)
        name, example.namespace["schema"] = example.namespace["schema"], ""
        assert name, f"{_place(example)}: name the schema in a comment before, <!-- schema: Decision -->"
        schema = {"$ref": f"#/components/schemas/{name}", "components": self._api["components"]}
        problems = list(jsonschema_rs.Draft202012Validator(schema).iter_errors(value))
        assert not problems, f"{_place(example)}: {problems[0].message} at {problems[0].instance_path}"

    def _yaml(self, example: Example) -> None:
        declared = yaml.safe_load(example.parsed)
        if "variables" in declared and "unit" in declared:
            assert check_descriptor(parse_descriptor(declared)) == []
            (example.namespace["folder"] / f"{declared['name']}.yaml").write_text(example.parsed)
        elif "access_levels" in declared:
            assert parse_policy(example.parsed).access_levels
            (example.namespace["folder"] / f"{declared['name']}.yaml").write_text(example.parsed)
        elif "examples" in declared:
            path = example.namespace["folder"] / f"{declared['policy']}.examples.yaml"
            path.write_text(example.parsed)
            assert load_examples(path).examples

    def _text(self, example: Example) -> None:
        """Every line that is shown was printed, in this order; `...` stands for what is left out."""
        if not example.namespace["output"]:
            return
        example.namespace["output"] = False
        printed = iter(_lines(example.namespace["printed"]))
        for line in _lines(example.parsed):
            if line != "...":
                assert line in printed, (
                    f"{_place(example)}: {line!r} was not printed:\n" + (example.namespace["printed"])
                )


class Directives:
    """`<!-- name: value -->` sets a name of the page's namespace for the snippet that follows."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, document: Document) -> Any:
        for lexed in DirectiveInHTMLCommentLexer(self._name)(document):
            yield Region(lexed.start, lexed.end, lexed.lexemes["arguments"], self._set)

    def _set(self, example: Example) -> None:
        example.namespace[self._name] = example.parsed.strip() or True


def _place(example: Example) -> str:
    return f"{Path(example.path).relative_to(ROOT)}:{example.line}"


def _lines(text: str) -> list[str]:
    return [NOT_COMPARED.sub("#", line).rstrip() for line in text.splitlines() if line.strip()]
