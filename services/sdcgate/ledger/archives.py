"""Zip archives that are cut, damaged, encrypted or packed in a way that `zipfile` does not read."""

import zipfile
import zlib

OF_ARCHIVES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading such an archive raises, apart from the OSError and ValueError of any reading."""
