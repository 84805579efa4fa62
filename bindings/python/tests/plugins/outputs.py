"""Model outputs for the drivers: those of the vectors, and what they say, read by the package without a server."""

import json
from pathlib import Path

import toolglot
from cutting import by_lot

ROOT = Path(__file__).parents[4]
TOOLS = [{"type": "function", "function": {"name": "nothing", "parameters": {"type": "object", "properties": {}}}}]


class Output:
    """A model output."""

    def __init__(self, vector):
        self.id, self.text, self.dialect = vector["id"], vector["input"], vector["dialect"]
        self.tools = [self.tool(tool) for tool in vector.get("tools") or TOOLS]
        engine = toolglot.Engine(self.dialect, reasoning="off")
        turn = engine.parse(self.text, tools=self.tools)
        # What a client gets: text that was taken for a block is escaped there.
        (choice,) = json.loads(engine.completion(self.text, tools=self.tools))["choices"]
        self.content = choice["message"]["content"] or ""
        self.calls = [(call.name, call.arguments_json) for call in turn.calls if call.grade != "recovered"]

    @staticmethod
    def tool(tool):
        return tool if "function" in tool else {"type": "function", "function": tool}

    def cuts(self):
        """Whole, by characters, by lot."""
        yield [self.text]
        yield list(self.text)
        for number in range(3):
            yield by_lot(self.text, f"{self.id} {number}")


def outputs():
    """Those that need no options and hold no calls beside the text."""
    for file in sorted((ROOT / "tests" / "vectors").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            vector = json.loads(line) if line.strip() else {}
            plain = "input" in vector and not vector.get("options") and not vector.get("native_tool_calls")
            if plain and not vector["dialect"].startswith("reasoning-"):
                yield Output(vector)


class Calls:
    """Calls put together from pieces, with the rules that clients rely on."""

    def __init__(self):
        self.found = []

    def take(self, index, name, arguments, identity=None):
        """A piece: a new index has the name, an old one has none."""
        if index == len(self.found):
            assert name, "a call begins without a name"
            self.found.append([name, "", identity])
        else:
            assert index == len(self.found) - 1, f"piece for call {index} of {len(self.found)}"
            assert not name and not identity, "a name or id came twice"
        self.found[index][1] += arguments or ""

    def standing(self):
        """Those that are whole: what does not stand never becomes JSON."""
        return [(name, text) for name, text, _ in self.found if is_json(text)]


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False
