"""What each template needs of a template engine: filters, tests, functions, methods, statements and variables."""

from jinja2 import meta, nodes

# What every server gives.
USUAL = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}


def needs(environment, source):
    """The template's needs by kind, each sorted."""
    tree = environment.parse(source)
    found = {kind: set() for kind in ("filters", "tests", "functions", "methods", "statements")}
    own = {macro.name for macro in tree.find_all(nodes.Macro)}
    for node in tree.find_all(nodes.Filter):
        found["filters"].add(node.name)
    for node in tree.find_all(nodes.Test):
        found["tests"].add(node.name)
    for node in tree.find_all(nodes.Call):
        if isinstance(node.node, nodes.Getattr):
            found["methods"].add(node.node.attr)
        elif isinstance(node.node, nodes.Name) and node.node.name not in own:
            found["functions"].add(node.node.name)
    kinds = {"macro": nodes.Macro, "break": nodes.Break, "continue": nodes.Continue, "generation": nodes.Scope, "filter": nodes.FilterBlock}
    for word, kind in kinds.items():
        if any(True for _ in tree.find_all(kind)):
            found["statements"].add(word)
    # A name that some branch sets counts as set.
    stored = {node.name for node in tree.find_all(nodes.Name) if node.ctx in ("store", "param")}
    variables = meta.find_undeclared_variables(tree) - USUAL - stored - set(environment.globals)
    return {**{kind: sorted(words) for kind, words in found.items()}, "variables": sorted(variables)}


def table(environment, templates):
    """The page's section; `templates` are pairs of name and source."""
    out = ["\n## What templates need\n\nOf the template engine, beyond plain loops and conditions. Variables that are not given are undefined.\n\n"]
    out.append("| template | filters | tests | functions | methods | statements | variables |\n|---|---|---|---|---|---|---|\n")
    for name, source in templates:
        cells = [" ".join(words) for words in needs(environment, source).values()]
        out.append(f"| {name} | {' | '.join(cells)} |\n")
    return "".join(out)
