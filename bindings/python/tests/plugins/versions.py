#!/usr/bin/env python3
"""Compares the plug-ins with several versions of each server: names of modules and classes, and signatures of methods.

    versions.py [--write] FOLDER     reads versions.txt; with --write, stores the digests anew

Only the modules in question are fetched from a wheel, by range requests: the rest, some 400 MB, needs a GPU. The digest of
everything fetched is pinned. The plug-ins are read, not run; `ci/plugins.sh` runs them in the newest version of each server.
"""

import ast
import hashlib
import re
import sys
import zipfile
from pathlib import Path

from pip._internal.commands import create_command
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._vendor.packaging.version import Version

HERE = Path(__file__).parent
LIST = HERE / "versions.txt"
PACKAGE = HERE.parent.parent / "python" / "toolglot"
WANTED = {
    "vllm": re.compile(
        r"vllm/(tool_parsers/abstract_tool_parser|reasoning/abs_reasoning_parsers|entrypoints/(generate|openai)(/\w+)?/protocol"
        r"|parser/abstract_parser|plugins/__init__)\.py"
    ),
    "sglang": re.compile(
        r"sglang/srt/(function_call/(base_format_detector|core_types|function_call_parser|parser_names)|plugins/__init__)\.py"
    ),
}
# The names that the plug-ins take from modules, by the list of candidate modules.
PROTOCOL = ["DeltaFunctionCall", "DeltaMessage", "DeltaToolCall", "ExtractedToolCallInformation", "FunctionCall", "ToolCall"]
VLLM = {
    "VLLM_PROTOCOL": dict.fromkeys(PROTOCOL),
    "VLLM_TOOLS": {"ToolParser": "ToolglotToolParser", "ToolParserManager": None},
    "VLLM_REASONING": {"ReasoningParser": "ToolglotReasoningParser", "ReasoningParserManager": None},
}
SGLANG = {
    "sglang.srt.function_call.base_format_detector": {"BaseFormatDetector": "ToolglotDetector"},
    "sglang.srt.function_call.core_types": {"StreamingParseResult": None, "StructureInfo": None, "ToolCallItem": None},
    "sglang.srt.function_call.function_call_parser": {"FunctionCallParser": None},
}
# The methods of the servers' registries that the plug-ins call.
CALLED = {"ToolParserManager": ["register_module", "register_lazy_module"], "ReasoningParserManager": ["register_module", "register_lazy_module"]}
GROUPS = {"vllm": ("vllm/plugins/__init__.py", "vllm.general_plugins"), "sglang": ("sglang/srt/plugins/__init__.py", "sglang.srt.plugins")}


def listed():
    for line in LIST.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, _, digest = line.partition(" ")
            server, version = name.split("==")
            yield server, version, digest.strip().removeprefix("sha256:")


def fetch(folder, wanted):
    """Unpacks the modules of each wheel below `folder`; uses pip's session and index."""
    missing = [(server, version) for server, version in wanted if not (folder / f"{server}-{version}" / "done").exists()]
    if not missing:
        return
    command = create_command("download")
    options, _ = command.parse_args(["-q", "--only-binary", ":all:", "--no-deps", "-d", str(folder), "unused"])
    with command.main_context():
        session = command._build_session(options)
        finder = command._build_package_finder(options, session)
        for server, version in missing:
            found = [one.link for one in finder.find_all_candidates(server) if one.version == Version(version)]
            links = sorted((link for link in found if link.filename.endswith(".whl")), key=lambda link: link.filename)
            if not links:
                sys.exit(f"{server} {version}: the registry has no wheel of it")
            with zipfile.ZipFile(LazyZipOverHTTP(links[0].url_without_fragment, session, chunk_size=1 << 16)) as wheel:
                names = [name for name in wheel.namelist() if WANTED[server].fullmatch(name)]
                wheel.extractall(folder / f"{server}-{version}", names)
            (folder / f"{server}-{version}" / "done").touch()


def digest(root):
    seen = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*.py")):
        seen.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()


def classes(text):
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def methods(node):
    return {item.name: item.args for item in node.body if isinstance(item, ast.FunctionDef)}


def takes(ours, theirs):
    """What is wrong with a method of ours that overrides one of the server's."""
    names = [arg.arg for arg in ours.posonlyargs + ours.args]
    every = names + [arg.arg for arg in ours.kwonlyargs]
    wanted = [arg.arg for arg in theirs.posonlyargs + theirs.args]
    if ours.vararg is None and names[: len(wanted)] != wanted:
        return f"takes {names}, not {wanted}"
    if ours.kwarg is None and any(arg.arg not in every for arg in theirs.kwonlyargs):
        return f"lacks {[arg.arg for arg in theirs.kwonlyargs if arg.arg not in every]}"
    required = names[: len(names) - len(ours.defaults)]
    if any(name not in wanted for name in required):
        return f"requires {[name for name in required if name not in wanted]}"
    return None


def modules_of(constant):
    """The candidate modules of a plug-in, read from its source."""
    for node in ast.parse((PACKAGE / "_servers.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == constant:
            return ast.literal_eval(node.value)
    sys.exit(f"_servers.py has no {constant}")


def check(root, server):
    """The faults with one version."""
    plugin = classes((PACKAGE / f"{server}.py").read_text())
    places = {modules_of(key): names for key, names in VLLM.items()} if server == "vllm" else {(key,): names for key, names in SGLANG.items()}
    checked = 0
    for modules, names in places.items():
        files = [root / (module.replace(".", "/") + ".py") for module in modules]
        file = next((file for file in files if file.exists()), None)
        if file is None:
            yield f"has none of {modules}"
            continue
        found = classes(file.read_text(encoding="utf-8"))
        for name, ours in names.items():
            if name not in found:
                yield f"{file.relative_to(root)} has no {name}"
                continue
            theirs = methods(found[name])
            for method in CALLED.get(name, []):
                if method not in theirs:
                    yield f"{name} has no {method}"
            for method, mine in (methods(plugin[ours]) if ours else {}).items():
                if method in theirs and method != "__init__":
                    checked += 1
                    fault = takes(mine, theirs[method])
                    if fault:
                        yield f"{ours}.{method} {fault}"
    file, group = GROUPS[server]
    if group not in (root / file).read_text(encoding="utf-8"):
        yield f"{file} knows no entry points {group}"
    if checked < 5:
        yield f"only {checked} methods were compared"


def main():
    folder = Path(sys.argv[-1])
    wanted = list(listed())
    fetch(folder, [(server, version) for server, version, _ in wanted])
    if "--write" in sys.argv:
        head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
        lines = [f"{server}=={version} sha256:{digest(folder / f'{server}-{version}')}" for server, version, _ in wanted]
        LIST.write_text("\n".join(head + lines) + "\n")
        return 0
    faults = 0
    for server, version, pinned in wanted:
        root = folder / f"{server}-{version}"
        found = [f"its modules have the digest {digest(root)}, not {pinned}"] if digest(root) != pinned else list(check(root, server))
        for fault in found:
            print(f"{server} {version}: {fault}")
        faults += len(found)
    print(f"{len(wanted)} versions compared, {faults} faults")
    return 1 if faults or len(wanted) < 12 else 0


if __name__ == "__main__":
    sys.exit(main())
