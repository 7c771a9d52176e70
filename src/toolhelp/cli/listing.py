"""ps, threads, modules: what is there now."""

from __future__ import annotations

from typing import Any

import click

import toolhelp as th

from .tables import table_options, write


@click.command()
@table_options
def ps(**options: Any) -> None:
    """List the processes of this machine."""
    write(th.processes(), **options)


@click.command()
@click.argument("pid", type=click.IntRange(0, 2**32 - 1), required=False)
@table_options
def threads(pid: int | None, **options: Any) -> None:
    """List the threads of this machine, or of process PID."""
    write(th.threads(pid), **options)


@click.command()
@click.argument("pid", type=click.IntRange(0, 2**32 - 1), required=False)
@table_options
def modules(pid: int | None, **options: Any) -> None:
    """List the modules of process PID (without it: of this command itself)."""
    write(th.modules(pid), **options)
