"""What stands in the source of a class and is lost at run time."""

import ast
import inspect
import textwrap
from itertools import pairwise


def fields(kind: type) -> dict[str, tuple[str, str]]:
    """Annotation, and the text beneath it, of each field of a class and of those it inherits from."""
    found: dict[str, tuple[str, str]] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__.partition(".")[0] in ("sdcgate", "sdcgate_client"):
            (source,) = ast.parse(textwrap.dedent(inspect.getsource(parent))).body
            assert isinstance(source, ast.ClassDef)
            for field, below in pairwise([*source.body, ast.Pass()]):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    name = field.target.id
                    inherited = found.get(name, ("", ""))[1]
                    found[name] = (ast.unparse(field.annotation), _text(below) or inherited)
    return found


def _text(statement: ast.stmt) -> str:
    value = statement.value if isinstance(statement, ast.Expr) else None
    text = value.value if isinstance(value, ast.Constant) else None
    return inspect.cleandoc(text) if isinstance(text, str) else ""
