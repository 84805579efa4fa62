"""An agent that lists files as it likes, and asks before it removes one: ADDRESS of a server, NAME of its model, TEXT."""

import pathlib
import sys

import toolglot


def ls(folder: str) -> list[str]:
    "Lists a folder."
    return sorted(str(path) for path in pathlib.Path(folder).iterdir())


def remove(path: str) -> str:
    "Removes a file."
    pathlib.Path(path).unlink()
    return f"{path} is gone"


def approve(call: toolglot.PendingCall) -> bool:
    return input(f"{call.name} {call.arguments_json}? [y/n] ") == "y"


address, name, text = sys.argv[1:]
policy = {"allow": ["ls"], "confirm": ["remove"]}
agent = toolglot.Agent(address, name=name, tools=[ls, remove], dialect="hermes", policy=policy, approve=approve)
print(agent.run_sync(text).text)
