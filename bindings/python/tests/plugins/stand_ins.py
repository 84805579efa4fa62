"""Stand-ins for what a server imports but its parsers do not need: torch, transformers, the rest of the server itself.

`install(root, real)`: in the package unpacked in `root`, the modules in `real` are real. All its other modules, and the
packages in `ABSENT`, are stand-ins whose names are classes that can be anything: a base, a decorator, the type of a field.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from pathlib import Path


class Anything(type):
    """The metaclass of a class that can be anything."""

    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = stand_in(name)
        setattr(cls, name, made)
        return made

    def __call__(cls, *args, **keywords):
        decorates = cls.__dict__.get("is_stand_in") and len(args) == 1 and not keywords and callable(args[0])
        return args[0] if decorates else super().__call__(*args, **keywords)

    def __or__(cls, other):
        return other

    __ror__ = __or__

    def __getitem__(cls, item):
        return cls

    def __iter__(cls):
        return iter(())

    def __contains__(cls, item):
        return False

    def __bool__(cls):
        return False

    def __int__(cls):
        return 0


class StandIn(metaclass=Anything):
    """The base class of all stand-ins."""

    def __init__(self, *args, **keywords):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __call__(self, *args, **keywords):
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()


def stand_in(name):
    """A class that can be anything."""
    return Anything(name, (StandIn,), {"is_stand_in": True})


class Module(types.ModuleType):
    """A module in which every name is a stand-in, except for the modules in its folder."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if any(Path(folder, name + ending).exists() for folder in self.__path__ for ending in ("", ".py")):
            return importlib.import_module(f"{self.__name__}.{name}")
        made = stand_in(name)
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins. The instance with `before` is asked before the import system, the other one after it."""

    def __init__(self, root, package, real, before):
        self.root, self.package, self.real, self.before = Path(root), package, real, before

    def find_spec(self, name, path=None, target=None):
        own = name.split(".")[0] == self.package
        if self.before != own or (own and self.is_real(name)):
            return None
        if not own and name.split(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def is_real(self, name):
        return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in self.real)

    def create_module(self, spec):
        module = Module(spec.name)
        folder = self.root.joinpath(*spec.name.split("."))
        module.__path__ = [str(folder)] if spec.name.split(".")[0] == self.package and folder.is_dir() else []
        module.__version__ = "0"
        return module

    def exec_module(self, module):
        pass


# Third-party packages that no parser needs.
ABSENT = {"json_repair", "lxml", "torch", "transformers", "xgrammar"}


def install(root, package, real):
    """Installs the stand-ins."""
    sys.path.insert(0, str(root))
    sys.meta_path.insert(0, Finder(root, package, real, True))
    sys.meta_path.append(Finder(root, package, real, False))
