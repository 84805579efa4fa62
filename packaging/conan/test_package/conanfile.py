"""Builds and runs the smallest program against the package."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class Test(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        kind = "shared" if self.dependencies["toolglot"].options.shared else "static"
        cmake.configure(variables={"KIND": kind})
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(f'"{Path(self.build_folder, self.cpp.build.bindir, "host")}"', env="conanrun")
