"""The C library for Conan, from the tree that this recipe lies in.

    conan create packaging/conan [-o 'toolglot/*:shared=True']

It needs cargo. With `TOOLGLOT_BUILT=FOLDER` in the environment it takes the libraries from there and builds nothing.
"""

import os
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, rm, rmdir

required_conan_version = ">=2.0"


class Toolglot(ConanFile):
    name = "toolglot"
    version = "0.1.0"
    description = "A streaming parser for the tool calls that language models write into their text"
    license = "Apache-2.0 OR MIT"
    topics = ("llm", "tool-calling", "parser", "streaming")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def export_sources(self):
        root = Path(self.recipe_folder).parents[1]
        for pattern in (
            "Cargo.*", "LICENSE-*", "README.md", "CHANGELOG.md", "include/*", "src/*", "scan/*", "tools/*", "agent/*", "testkit/*",
            "cli/*", "gateway/*", "serve/*", "tests/Cargo.toml", "tests/suite/*", "benches/*", "bindings/c/*",
        ):
            copy(self, pattern, root, self.export_sources_folder, excludes=("*/target/*", "target/*"))

    def package_id(self):
        # A C library: its users need no particular compiler, nor a particular kind of build.
        del self.info.settings.build_type
        del self.info.settings.compiler

    def validate(self):
        if str(self.settings.os) not in ("Linux", "Macos", "Windows", "FreeBSD"):
            raise ConanInvalidConfiguration(f"{self.settings.os} is not supported")

    def build(self):
        if not os.environ.get("TOOLGLOT_BUILT"):
            self.run(f'cargo build --release --locked -p toolglot-c --target-dir "{self.build_folder}/target"', cwd=self.source_folder)

    def package(self):
        built = os.environ.get("TOOLGLOT_BUILT") or f"{self.build_folder}/target/release"
        self.run(f'bash bindings/c/install.sh "{self.package_folder}" "{built}"', cwd=self.source_folder)
        library = Path(self.package_folder, "lib")
        if self.options.shared:
            for name in ("libtoolglot.a", "libtoolglot_isolated.a", "toolglot.lib"):
                rm(self, name, library)
        else:
            for name in ("*.so*", "*.dylib", "*.dll*"):
                rm(self, name, library)
            rmdir(self, Path(self.package_folder, "bin"))
        # Conan makes these itself.
        rmdir(self, library / "pkgconfig")
        rmdir(self, library / "cmake")
        os.rename(Path(self.package_folder, "share", "licenses", "toolglot"), Path(self.package_folder, "licenses"))
        rmdir(self, Path(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.libs = ["toolglot"]
        self.cpp_info.set_property("cmake_target_name", "toolglot::shared" if self.options.shared else "toolglot::static")
        self.cpp_info.set_property("pkg_config_name", "toolglot")
        if self.settings.os == "Windows" and self.options.shared:
            self.cpp_info.libs = ["toolglot.dll"]
            self.cpp_info.defines = ["TOOLGLOT_SHARED"]
        elif not self.options.shared:
            self.cpp_info.system_libs = {
                "Windows": ["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"], "Macos": [],
            }.get(str(self.settings.os), ["pthread", "dl", "m"])
