"""Makes the page docs/TEMPLATES.md from the cells."""

HEAD = """# Templates

What chat templates write, and whether it is read back. Written by `ci/templates.sh --write`; only the reasons why something is not
read are typed by hand, in `tests/templates/templates.toml`.

The templates are those in the source archives {archives} ({count} that differ, {writing} of them write calls). Each is rendered with
Jinja2, as the servers do, over {shapes} turns of an assistant: {names}.
The assistant's part is read with the dialect of the template, from the end of the prompt that the template itself makes, under
{cuts} cuts (whole, bytes, sevens, random). A *cell* is one template and one turn. It is *right* if under every cut calls, names and
arguments, text and thoughts are those that were said. Grades don't count here; white space around text and thoughts is the
template's to set.

The *template* lost something if what was read renders to the same bytes in its place (nobody can tell the two apart), or if it
writes a value without escapes that holds what it ends values with. Such a reading must fit the tool's schema, and text must be
part of what was said: markup that leaks is ours. All else that differs is *ours*. A turn that the template refuses
to write is *refused*.

| cells | right | lost by the template | ours | refused by the template |
|---|---|---|---|---|
| {total} | {right} | {template} | {us} | {refused} |
"""


def report(table, count, writing, archives, cuts, reasons):
    sums = {key: sum(cell["verdict"] == key for cell in table) for key in ("right", "template", "us", "refused")}
    shapes = list(dict.fromkeys(cell["shape"] for cell in table))
    head = HEAD.format(
        archives=" and ".join(archives), count=count, writing=writing, shapes=len(shapes), names=", ".join(shapes),
        cuts=cuts, total=len(table), **sums,
    )
    parts = [head]
    parts += section("What templates lose", "template", table)
    parts += section("What we lose", "us", table)
    parts += why(table, reasons)
    parts.append("\n## All templates\n\n| template | archive | dialect | right | lost by it | ours | refused |\n|---|---|---|---|---|---|---|\n")
    for template in dict.fromkeys(cell["template"] for cell in table):
        mine = [cell["verdict"] for cell in table if cell["template"] is template]
        counts = " | ".join(str(mine.count(key) or "") for key in ("right", "template", "us", "refused"))
        dialects = ", ".join(f"`{one}`" for one in template.dialects)
        parts.append(f"| {template.name} | {template.archive} | {dialects} | {counts} |\n")
    return "".join(parts)


def section(title, verdict, table):
    rows = {}
    for cell in table:
        if cell["verdict"] != verdict:
            continue
        whats = list(dict.fromkeys(what(loss) for loss in cell["losses"] if loss[3] == verdict))
        rows.setdefault((cell["template"].name, "; ".join(whats)), []).append(cell["shape"])
    if not rows:
        return [f"\n## {title}\n\nNothing.\n"]
    out = [f"\n## {title}\n\n| template | turns | what |\n|---|---|---|\n"]
    out += [f"| {name} | {', '.join(shapes)} | {whats} |\n" for (name, whats), shapes in rows.items()]
    return out


def why(table, reasons):
    """Why our losses are not read: written by hand, and required."""
    names = dict.fromkeys(cell["template"].name for cell in table if cell["verdict"] == "us")
    missing = [name for name in names if name not in reasons]
    unused = [name for name in reasons if name not in names]
    if missing or unused:
        raise SystemExit(f"reasons in templates.toml: none for {missing}, no use for {unused}")
    if not names:
        return []
    return ["\n| template | why it is not read |\n|---|---|\n", *(f"| {name} | {reasons[name]} |\n" for name in names)]


def what(loss):
    path, said, got, _ = loss
    if path[0] in ("text", "reasoning"):
        name = "text" if path[0] == "text" else "thoughts"
        if not got.strip():
            return f"{name} left out"
        return f"{name} shortened" if got.strip() in said else f"{name} with {code(got)}"
    if path[0] == "cuts":
        return "depends on the cut"
    if path == ("calls",):
        return f"{len(got)} of {len(said)} calls"
    return f"{code(said)} as {code(got)}" if got is not None else f"{code(said)} left out"


def code(value):
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= 40 else text[:37] + "..."
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("|", "\\|")
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if "`" in text or text != text.strip() else f"{fence}{text or ' '}{fence}"
