"""
Builds the wheel and the source archive (PEP 517) from pyproject.toml and src, without another package. Needs Python 3.11,
for tomllib; the wheel itself runs on what `requires-python` says. Equal sources make equal bytes.
"""

import base64, hashlib, io, tarfile, tomllib, zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = PROJECT["name"].replace("-", "_")
STEM = f"{NAME}-{PROJECT['version']}"
TAG = "py3-none-any"
# The first time that a zip archive can hold.
TIME = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{STEM}.dist-info"
    files = {path.relative_to(ROOT / "src").as_posix(): path.read_bytes() for path in sources()}
    wheel = f"Wheel-Version: 1.0\nGenerator: build_package\nRoot-Is-Purelib: true\nTag: {TAG}\n"
    files |= {f"{info}/METADATA": metadata().encode(), f"{info}/WHEEL": wheel.encode()}
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    lines = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    file_name = f"{STEM}-{TAG}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / file_name, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return file_name


def build_sdist(sdist_directory, config_settings=None):
    named = [ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE", "build_package.py")]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in [*named, *sources()]}
    file_name = f"{STEM}.tar.gz"
    with tarfile.open(Path(sdist_directory) / file_name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, data in {"PKG-INFO": metadata().encode(), **files}.items():
            entry = tarfile.TarInfo(f"{STEM}/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return file_name


def sources():
    return sorted(path for path in (ROOT / "src").rglob("*") if path.suffix == ".py" or path.name == "py.typed")


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def metadata():
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {PROJECT['name']}",
        f"Version: {PROJECT['version']}",
        f"Summary: {PROJECT['description']}",
        f"Keywords: {','.join(PROJECT['keywords'])}",
        f"License-Expression: {PROJECT['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {PROJECT['requires-python']}",
        *(f"Classifier: {one}" for one in PROJECT["classifiers"]),
        *(f"Project-URL: {name}, {url}" for name, url in PROJECT.get("urls", {}).items()),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", (ROOT / "README.md").read_text(encoding="utf-8")])
