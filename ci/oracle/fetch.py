#!/usr/bin/env python3
"""fetch.py URL FOLDER SUMS: unpacks the files that SUMS lists from a Debian package into FOLDER.

The packages with PyTorch and CUDA are about a gigabyte, and the few files that SUMS lists are at
their beginning. fetch.py stops reading after the last of these files. apt can verify a package only
as a whole. So fetch.py compares each file with its SHA-256 sum in SUMS, in the format of sha256sum,
before it writes the file. It unpacks nothing else from a package: no other file, no link, no
device, and no file larger than MOST.
"""

import hashlib
import io
import lzma
import os
import re
import sys
import tarfile
import urllib.request

MOST = 64 << 20  # bytes of one file


class Bytes(io.RawIOBase):
    """The bytes of a member of an ar archive, decompressed."""

    def __init__(self, archive, size):
        self.archive, self.left = archive, size
        self.xz = lzma.LZMADecompressor(memlimit=256 << 20)
        self.ready = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.ready and not self.xz.eof:
            packed = b""
            if self.xz.needs_input:
                packed = self.archive.read(min(self.left, 1 << 16))
                if not packed:
                    raise EOFError("the package ends early")
                self.left -= len(packed)
            self.ready = self.xz.decompress(packed, 1 << 20)
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


def data(package):
    """Returns the tar archive with the files of a .deb. A .deb is an ar archive of debian-binary,
    control.tar and data.tar, each after a header of 60 bytes."""
    if package.read(8) != b"!<arch>\n":
        sys.exit("fetch.py: expected a Debian package")
    while header := package.read(60):
        name, size = header[:16].decode().strip(), int(header[48:58])
        if name.startswith("data.tar"):
            if name.rstrip("/") != "data.tar.xz":
                sys.exit(f"fetch.py: expected data.tar.xz, found {name}")
            return tarfile.open(fileobj=io.BufferedReader(Bytes(package, size)), mode="r|")
        if size > MOST:
            sys.exit(f"fetch.py: expected {name} to be small, found {size} bytes")
        package.read(size + size % 2)
    sys.exit("fetch.py: the package has no data.tar")


def listed(path):
    """Returns the files that SUMS lists, {path: sum}. Each path must be relative and stay inside
    the folder."""
    sums = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            parts = re.fullmatch(r"([0-9a-f]{64})  (\S+)\n", line)
            if not parts or parts[2].startswith("/") or ".." in parts[2].split("/"):
                sys.exit(
                    f"fetch.py: {path}:{number}: expected a SHA-256 sum and a relative path, "
                    f"found {line!r}"
                )
            sums[parts[2]] = parts[1]
    return sums


def put(folder, name, content):
    """Writes a file. It renames a finished file, so that no reader finds half of the content."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.replace(path + ".new", path)


def unpack(package, folder, sums):
    """Writes the files in sums from the package into the folder. It exits if one is missing or has
    another sum."""
    left = dict(sums)
    files = data(package)
    for member in files:
        name = member.name.removeprefix("./")
        if name not in left:
            continue
        if not member.isreg() or member.size > MOST:
            sys.exit(
                f"fetch.py: {name}: expected a file of at most {MOST} bytes, found {member.size} "
                f"bytes of type {member.type!r}"
            )
        content = files.extractfile(member).read()
        found = hashlib.sha256(content).hexdigest()
        if found != left[name]:
            sys.exit(
                f"fetch.py: {name}: expected the sum {left[name]}, found {found}: another build of "
                "the package"
            )
        put(folder, name, content)
        del left[name]
        if not left:
            return
    sys.exit(f"fetch.py: expected {', '.join(left)} in the package, found none")


def main():
    url, folder, sums = sys.argv[1:]
    with urllib.request.urlopen(url, timeout=60) as package:
        unpack(package, folder, listed(sums))


if __name__ == "__main__":
    main()
