"""Tests fetch.py with good, wrong and torn packages: python3 -m unittest ci/oracle/fetch_test.py"""

import hashlib
import io
import lzma
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import fetch  # noqa: E402  after sys.path, because this folder is not a package

GOOD = b"int cudaMalloc(void **, size_t);\n"


def member(name, content=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, content


def package(*members):
    """Returns a .deb with these files, as ar and dpkg write it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    out = b"!<arch>\n"
    for name, body in [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", b"odd"),
        ("data.tar.xz", lzma.compress(raw.getvalue())),
    ]:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(body):<10}`\n".encode()
        out += body + b"\n" * (len(body) % 2)
    return io.BytesIO(out)


class Fetch(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def unpack(self, *members, sums=None):
        sums = sums or {"usr/include/cuda.h": hashlib.sha256(GOOD).hexdigest()}
        fetch.unpack(package(*members), self.folder / "root", sums)

    def made(self):
        paths = self.folder.rglob("*")
        return sorted(str(p.relative_to(self.folder)) for p in paths if not p.is_dir())

    def refused(self, why, *members, sums=None):
        with self.assertRaisesRegex(SystemExit, why):
            self.unpack(*members, sums=sums)
        self.assertEqual(self.made(), [])

    def test_only_what_is_listed(self):
        self.unpack(
            member("./usr/include/other.h", b"x"),
            member("./../../outside", b"x"),
            member("/absolute", b"x"),
            member("./usr/include/cuda", kind=tarfile.SYMTYPE, link="/"),
            member("./usr/include/cuda.h", GOOD),
            member("./usr/include/after.h", b"x"),
        )
        self.assertEqual(self.made(), ["root/usr/include/cuda.h"])
        self.assertEqual((self.folder / "root/usr/include/cuda.h").read_bytes(), GOOD)

    def test_other_content(self):
        self.refused("another build", member("./usr/include/cuda.h", GOOD + b" "))

    def test_links_and_devices(self):
        for kind in (
            tarfile.SYMTYPE,
            tarfile.LNKTYPE,
            tarfile.CHRTYPE,
            tarfile.FIFOTYPE,
            tarfile.DIRTYPE,
        ):
            odd = member("./usr/include/cuda.h", kind=kind, link="/etc/passwd")
            self.refused("expected a file", odd)

    def test_a_folder_that_is_a_link(self):
        link = member("./usr/include", kind=tarfile.SYMTYPE, link="/tmp")
        self.refused("found none", link, member("./usr/include/x", GOOD))

    def test_too_large(self):
        self.refused("at most", member("./usr/include/cuda.h", b"\0" * (fetch.MOST + 1)))

    def test_missing(self):
        missing = "usr/include/cuda.h in the package, found none"
        self.refused(missing, member("./usr/include/other.h", GOOD))

    def test_no_package(self):
        with self.assertRaisesRegex(SystemExit, "expected a Debian package"):
            fetch.unpack(io.BytesIO(b"<html>"), self.folder, {"x": ""})

    def test_torn(self):
        whole = package(member("./usr/include/cuda.h", GOOD)).getvalue()
        for end in range(0, len(whole) - 1, 7):
            with self.assertRaises(
                (SystemExit, EOFError, tarfile.ReadError, lzma.LZMAError, ValueError)
            ):
                sums = {"usr/include/cuda.h": "0" * 64}
                fetch.unpack(io.BytesIO(whole[:end]), self.folder / "root", sums)
        self.assertEqual(self.made(), [])

    def test_sums(self):
        path = self.folder / "sums"
        for line in (
            "x  y\n",
            "0" * 64 + "  /etc/passwd\n",
            "0" * 64 + "  ../x\n",
            "0" * 64 + "  a/../../x\n",
            "0" * 64 + " x\n",
        ):
            path.write_text(line, encoding="utf-8")
            with self.assertRaisesRegex(SystemExit, "sums:1: expected a SHA-256 sum"):
                fetch.listed(path)
        path.write_text("0" * 64 + "  a/b\n", encoding="utf-8")
        self.assertEqual(fetch.listed(path), {"a/b": "0" * 64})


if __name__ == "__main__":
    unittest.main()
