"""The repository root is the import package `passlens`; this lists the folders that are inside it."""

from setuptools import find_packages, setup

ROOMS = ["ir", "ir.*", "backends", "backends.*", "tui", "tui.*"]

setup(
    package_dir={"passlens": "."},
    packages=["passlens"] + ["passlens." + name for name in find_packages(include=ROOMS)],
    package_data={"passlens": ["py.typed"], "passlens.tui": ["*.tcss"]},
)
