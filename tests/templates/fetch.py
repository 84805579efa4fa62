"""Fetches source archives without building anything: pip's own index client finds the file, and a pinned digest
verifies it.

    fetch.py WANTED.txt FOLDER      WANTED holds lines `name==version --hash=sha256:DIGEST`

`pip download` of a source archive runs the build system of the package to learn its metadata; this does not.
"""

import hashlib
import sys
from pathlib import Path

from pip._internal.commands import create_command
from pip._vendor.packaging.version import Version


def wanted(path):
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            requirement, digest = line.split("--hash=sha256:")
            name, version = requirement.strip().split("==")
            yield name, version, digest.strip()


def find(finder, name, version):
    for candidate in finder.find_all_candidates(name):
        if candidate.version == Version(version) and candidate.link.filename.endswith((".tar.gz", ".zip")):
            return candidate.link
    sys.exit(f"{name} {version}: the registry has no source archive of it")


def fetch(session, link, path, digest):
    part = path.with_suffix(".part")
    seen = hashlib.sha256()
    with session.get(link.url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True) as answer:
        answer.raise_for_status()
        with part.open("wb") as out:
            for chunk in answer.iter_content(1 << 20):
                seen.update(chunk)
                out.write(chunk)
    if seen.hexdigest() != digest:
        sys.exit(f"{link.filename}: its digest is {seen.hexdigest()}, not {digest}")
    part.rename(path)


def main():
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    missing = [w for w in wanted(sys.argv[1]) if not (folder / f"{w[0]}-{w[1]}.tar.gz").exists()]
    if not missing:
        return
    command = create_command("download")
    options, _ = command.parse_args(["-q", "--no-binary", ":all:", "--no-deps", "-d", str(folder), "unused"])
    with command.main_context():
        session = command._build_session(options)
        finder = command._build_package_finder(options, session)
        for name, version, digest in missing:
            fetch(session, find(finder, name, version), folder / f"{name}-{version}.tar.gz", digest)


main()
