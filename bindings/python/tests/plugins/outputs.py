"""Model outputs for the drivers: those of the vectors, with the results that the package reads without a server.
"""

import json
import logging
from pathlib import Path

import toolglot
from cutting import by_lot

# Many outputs lack something, and the plug-ins say so each time.
logging.getLogger("toolglot").setLevel(logging.ERROR)

ROOT = Path(__file__).parents[4]
TOOLS = [{"type": "function", "function": {"name": "nothing", "parameters": {"type": "object", "properties": {}}}}]


class Output:
    """A model output."""

    def __init__(self, vector):
        self.id, self.text, self.dialect = vector["id"], vector["input"], vector["dialect"]
        self.tools = [self.tool(tool) for tool in vector.get("tools") or TOOLS]
        engine = toolglot.Engine(self.dialect, reasoning="off")
        turn = engine.parse(self.text, tools=self.tools)
        # The text that a client gets: text that was first taken for a block is escaped in it.
        (choice,) = json.loads(engine.completion(self.text, tools=self.tools))["choices"]
        self.content = choice["message"]["content"] or ""
        self.calls = [(call.name, call.arguments_json) for call in turn.calls if call.grade != "recovered"]

    @staticmethod
    def tool(tool):
        return tool if "function" in tool else {"type": "function", "function": tool}

    def cuts(self):
        """The output whole, by characters, and in random pieces."""
        yield [self.text]
        yield list(self.text)
        for number in range(3):
            yield by_lot(self.text, f"{self.id} {number}")


def outputs():
    """The outputs that need no options and have no API tool calls."""
    for file in sorted((ROOT / "tests" / "vectors").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            vector = json.loads(line) if line.strip() else {}
            plain = "input" in vector and not vector.get("options") and not vector.get("native_tool_calls")
            if plain and not vector["dialect"].startswith("reasoning-"):
                yield Output(vector)


class Calls:
    """Assembles calls from pieces, by the rules that clients rely on."""

    def __init__(self):
        self.found = []

    def take(self, index, name, arguments, identity=None):
        """Takes a piece: only the first piece of an index has the name."""
        if index == len(self.found):
            assert name, "a call begins without a name"
            self.found.append([name, "", identity])
        else:
            assert index == len(self.found) - 1, f"piece for call {index} of {len(self.found)}"
            assert not name and not identity, "a name or id came twice"
        self.found[index][1] += arguments or ""

    def standing(self):
        """The complete calls: a retracted call never becomes JSON."""
        return [(name, text) for name, text, _ in self.found if is_json(text)]


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False
