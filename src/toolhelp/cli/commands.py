"""The words of the command `toolhelp`."""

from __future__ import annotations

import importlib

import click

from .. import __version__
from . import exits

# Where each command lives; a module is imported when one of its commands is called for.
COMMANDS = {
    "ps": "listing",
    "threads": "listing",
    "modules": "listing",
    "heaps": "system",
    "blocks": "system",
    "tree": "system",
    "who-uses": "system",
    "snapshot": "system",
    "snapshot-diff": "system",
    "watch": "system",
    "info": "trace",
    "events": "trace",
    "report": "report",
    "leaks": "report",
    "peak": "report",
    "temp": "report",
    "timeline": "report",
    "record": "record",
    "live": "record",
    "sessions": "record",
    "diff": "check",
    "check": "check",
}


class Commands(click.Group):
    """The group of commands, each loaded when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # `diff` is of traces or of snapshots, as the files are.
        if args and args[0] == "diff" and len(args) > 1:
            from ..store import is_snapshot

            if any(is_snapshot(word) for word in args[1:]):
                args = ["snapshot-diff", *args[1:]]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[cmd_name]}", __package__)
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolhelp", message="%(prog)s %(version)s")
def toolhelp() -> None:
    """Windows process, thread, module and heap snapshots, and heap traces on any system.

    Exit codes: 0 done, 1 a rule of `check` is broken, 2 wrong words, 3 the input cannot be read,
    4 the trace is not complete and --strict was given, 5 not available here, 6 the system refused
    or the operation failed, 70 a fault of toolhelp, 130 interrupted.
    """


def run(words: list[str] | None) -> int:
    """Runs the command; gives its exit code."""
    return exits.run(lambda: toolhelp.main(args=words, prog_name="toolhelp", standalone_mode=False))
