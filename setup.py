"""The repository root is the import package `passlens`; this lists the folders that are inside it."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOMS = ["ir", "ir.*", "backends", "backends.*", "tui", "tui.*"]


class Modules(build_py):
    """All modules of the package but this file, which lies in the package's folder."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of one package as (package, module, file)."""
        found: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        return [entry for entry in found if entry[:2] != ("passlens", "setup")]


setup(
    package_dir={"passlens": "."},
    packages=["passlens"] + ["passlens." + name for name in find_packages(include=ROOMS)],
    package_data={
        "passlens": ["py.typed"],
        "passlens.ir.analysis": ["*.json", "devices/*.json"],
        "passlens.tui": ["*.tcss"],
    },
    cmdclass={"build_py": Modules},
)
