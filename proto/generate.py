"""Generate services/sdcgate_proto from proto/; import paths of generated code are decided nowhere else.

protoc writes `from sdcgate.types.v1 import table_pb2`; the generated packages live under
`sdcgate_proto` beside the hand-written `sdcgate`, so the imports are rewritten once, here.
"""

import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent
OUT = ROOT.parent / "services" / "sdcgate_proto"


def generate() -> int:
    """Run protoc over every proto, rewrite imports, add package markers; returns protoc's exit code."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    sources = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.proto"))
    status: int = protoc.main(
        [
            "protoc",
            f"--proto_path={ROOT}",
            f"--proto_path={files('grpc_tools') / '_proto'}",
            f"--python_out={OUT}",
            f"--pyi_out={OUT}",
            f"--grpc_python_out={OUT}",
            f"--descriptor_set_out={OUT / 'descriptors.bin'}",
            "--include_source_info",
            "--include_imports",
            *sources,
        ]
    )
    for path in [*OUT.rglob("*.py"), *OUT.rglob("*.pyi")]:
        text = path.read_text(encoding="utf-8")
        rewritten = re.sub(r"\b(from|import) (sdcgate|buf)\.", r"\1 sdcgate_proto.\2.", text)
        path.write_text(rewritten, encoding="utf-8")
    for folder in [OUT, *(path for path in OUT.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        (folder / "__init__.py").touch()
    return status


if __name__ == "__main__":
    sys.exit(generate())
