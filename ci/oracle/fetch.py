#!/usr/bin/env python3
"""fetch.py URL FOLDER STOP WANTED: unpacks the wanted members of a Debian package below FOLDER, and reads no more of it than that.

The packages with PyTorch and CUDA are a gigabyte; the few files of interest are at their beginning. STOP and WANTED are regular
expressions of names: the first member that STOP matches ends the reading, after what WANTED matches has been unpacked.
"""

import io
import lzma
import re
import sys
import tarfile
import urllib.request


class Bytes(io.RawIOBase):
    """The bytes of a member of an ar archive, decompressed."""

    def __init__(self, archive, size):
        self.archive, self.left = archive, size
        self.xz = lzma.LZMADecompressor()
        self.ready = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.ready and self.left > 0 and not self.xz.eof:
            packed = self.archive.read(min(self.left, 1 << 16))
            if not packed:
                raise EOFError("the package ends early")
            self.left -= len(packed)
            self.ready = self.xz.decompress(packed)
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


def data(package):
    """The files of a .deb: an ar archive of debian-binary, control.tar and data.tar, each after a header of 60 bytes."""
    if package.read(8) != b"!<arch>\n":
        sys.exit("fetch.py: expected a Debian package")
    while header := package.read(60):
        name, size = header[:16].decode().strip(), int(header[48:58])
        if name.startswith("data.tar"):
            if name.rstrip("/") != "data.tar.xz":
                sys.exit(f"fetch.py: expected data.tar.xz, found {name}")
            return tarfile.open(fileobj=io.BufferedReader(Bytes(package, size)), mode="r|")
        package.read(size + size % 2)
    sys.exit("fetch.py: the package has no data.tar")


def main():
    url, folder, stop, wanted = sys.argv[1:]
    with urllib.request.urlopen(url, timeout=60) as package:
        files = data(package)
        files.extraction_filter = getattr(tarfile, "data_filter", None)  # nothing outside of the folder, where Python can
        for member in files:
            if re.search(stop, member.name):
                return
            if re.search(wanted, member.name):
                files.extract(member, folder)


main()
