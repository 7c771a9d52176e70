"""The C reader against the reference reader, on synthetic files.

They show that both understand the format alike, not that Windows writes it so.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import etlstrategies
from tracecompare import compare

# Hypothesis also prints the bytes of a file: long, but only when a test fails.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@settings(max_examples=1000, deadline=None, print_blob=True)
@given(etlstrategies.traces((*etlstrategies.MODELLED, *etlstrategies.JUDGED)))
def test_sound_files(made: etlstrategies.Made) -> None:
    compare(made.data)


@settings(max_examples=1000, deadline=None, print_blob=True)
@given(etlstrategies.traces())
def test_faulty_files(made: etlstrategies.Made) -> None:
    compare(made.data)


@settings(max_examples=100, deadline=None, print_blob=True)
@given(etlstrategies.traces())
def test_helper_threads_change_nothing(made: etlstrategies.Made) -> None:
    compare(made.data, threads_used=2)


@pytest.mark.parametrize("feature", etlstrategies.ALL)
def test_long_files_of_one_feature(feature: str) -> None:
    compare(etlstrategies.make(1, 600, [feature, "stacks"]).data)
