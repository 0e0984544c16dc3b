"""Decode the names in a zip file one by one, so that a name that is not text does not make the others unreadable.

See PKWARE's APPNOTE.TXT: 4.3.12 the central directory, 4.3.16 its end, 4.4.4 bit 11, which says that a name is UTF-8.
"""

import shutil
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import IO

_UTF8 = 0x800
_HEADER = struct.Struct("<4s6H3L5H2L")  # an entry of the central directory; its name follows
_END = struct.Struct("<4s4H2LH")


def open_archive(path: Path) -> tuple[zipfile.ZipFile, set[int]]:
    """Open a zip file; return it, and the header offsets of the entries whose names are not text.

    zipfile refuses a whole archive if one name is marked as UTF-8 and is not valid UTF-8. Raises what zipfile raises.
    """
    try:
        return zipfile.ZipFile(path), set()
    except UnicodeDecodeError:
        repaired = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the archive, or when nothing refers to it)
        with path.open("rb") as source:
            shutil.copyfileobj(source, repaired)
        not_text = _clear_wrong_utf8_marks(repaired)
        return zipfile.ZipFile(repaired), not_text


def name_of(info: zipfile.ZipInfo) -> str:
    """Return the whole name of an entry. The Ruby library that Canvas uses writes UTF-8 without marking it."""
    if info.flag_bits & _UTF8:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _clear_wrong_utf8_marks(file: IO[bytes]) -> set[int]:
    """Clear the marks of names that are not UTF-8, in place; return the offsets of their entries. Raises BadZipFile."""
    tail = max(file.seek(0, 2) - 65_535 - _END.size, 0)
    file.seek(tail)
    last = file.read()
    at = last.rfind(b"PK\5\6")
    if at < 0:
        raise zipfile.BadZipFile("it has no central directory")
    n_bytes = _END.unpack_from(last, at)[5]
    start = tail + at - n_bytes
    if start < 0:  # an archive this large keeps the size of its directory elsewhere
        raise zipfile.BadZipFile("one of its names is not text")
    file.seek(start)
    directory = bytearray(file.read(n_bytes))
    offsets = set()
    at = 0
    while at + _HEADER.size <= len(directory):
        fields = _HEADER.unpack_from(directory, at)
        flags, lengths, offset = fields[3], fields[10:13], fields[-1]
        try:
            directory[at + _HEADER.size : at + _HEADER.size + lengths[0]].decode("utf-8")
        except UnicodeDecodeError:
            struct.pack_into("<H", directory, at + 8, flags & ~_UTF8)
            offsets.add(offset)
        at += _HEADER.size + sum(lengths)
    file.seek(start)
    file.write(directory)
    return offsets
