"""Table and Column: rows, columns, buffers, NumPy, Arrow."""

from __future__ import annotations

import gc
import io
import pickle
import threading
from collections.abc import Sequence

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

COLUMNS = ("flag", "u8", "u16", "u32", "i32", "u64", "i64", "f64", "time", "text", "colour",
           "raw", "stack")  # fmt: skip
TYPES = ("bool", "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float64",
         "timestamp[ns, UTC]", "text", "label", "bytes", "list[uint64]")  # fmt: skip
FORMATS = {"flag": "?", "u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
           "f64": "d", "time": "q"}  # fmt: skip
COLOURS = ("red", "green", "blue")

LOWEST = (False, 0, 0, 0, -(2**31), 0, -(2**63), -1.5, -(2**63), "", 0, b"", ())
HIGHEST = (True, 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**31 - 1, 2**64 - 1, 2**63 - 1, 1e300, 2**63 - 1,
           "한글-é-\U0001f600", 2, b"\0\xff", (1, 2**64 - 1))  # fmt: skip
LONE = (True, 1, 2, 3, 4, 5, 6, 0.5, 7, "a\ud800b", 1, b"abc", (9,))
MISSING = (None,) * 13
VALUES = [LOWEST, HIGHEST, LONE, MISSING]


def as_rows(values):
    """What rows show of the values a table was made of: words for labels."""
    return [(*row[:10], None if row[10] is None else COLOURS[row[10]], *row[11:]) for row in values]


@pytest.fixture
def table(fake):
    return fake.fake_table(VALUES)


# ----- rows -----


def test_rows_hold_every_type(table):
    assert [tuple(row) for row in table] == as_rows(VALUES)
    assert table.columns == COLUMNS
    assert table.schema == dict(zip(COLUMNS, TYPES, strict=True))
    assert repr(table) == "<Table of 4 Sample rows>"
    for row, values in zip(table, as_rows(VALUES), strict=True):
        assert tuple(getattr(row, name) for name in COLUMNS) == values


def test_indices(table):
    rows = as_rows(VALUES)
    assert [tuple(table[i]) for i in range(-4, 4)] == [rows[i] for i in range(-4, 4)]
    for index in (4, -5, 2**31, 2**70, -(2**70)):
        with pytest.raises(IndexError):
            table[index]
    for key in (1.0, None, b"u8", (1,)):
        with pytest.raises(TypeError):
            table[key]
    with pytest.raises(KeyError, match="nonsense"):
        table["nonsense"]


def test_is_a_sequence(table):
    assert isinstance(table, Sequence)
    assert isinstance(table["u8"], Sequence)
    assert len(table) == len(table["u8"]) == 4
    assert table[1] in table
    assert [tuple(row) for row in reversed(table)] == as_rows(VALUES)[::-1]


def test_rows_are_immutable(table):
    row = table[0]
    with pytest.raises(AttributeError):
        row.u8 = 5
    with pytest.raises(TypeError):
        row[0] = 5
    assert hash(table[1]) == hash(table[1])
    assert table[1] == table[1]


def test_types_are_closed(table):
    for kind in (th.Table, th.Column, th.raw.SnapshotHandle):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind.new_attribute = 1
    with pytest.raises(AttributeError):
        table.new_attribute = 1


@pytest.mark.parametrize("start", [None, -5, -1, 0, 1, 3, 9])
@pytest.mark.parametrize("stop", [None, -5, -2, 0, 2, 4, 9])
@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, 100])
def test_slices(table, start, stop, step):
    part = slice(start, stop, step)
    expected = as_rows(VALUES)[part]
    assert [tuple(row) for row in table[part]] == expected
    for name in ("u32", "text", "colour", "raw", "stack"):
        assert list(table[name][part]) == [row[COLUMNS.index(name)] for row in expected]
        assert list(table[part][name]) == list(table[name][part])
    assert table[part] == table[part][:]


def test_slice_with_step_0(table):
    with pytest.raises(ValueError, match="zero"):
        table[::0]


def test_slices_share_memory(fake, table):
    blocks = fake.fake_live_blocks()
    parts = [table[1:3], table[1:][:2], table[1:3]["u64"]]
    assert fake.fake_live_blocks() == blocks
    del table, parts
    gc.collect()


def test_take(table):
    rows = as_rows(VALUES)
    assert [tuple(row) for row in table.take([2, 0, 2, -1])] == [rows[2], rows[0], rows[2], rows[3]]
    assert [tuple(row) for row in table[1:].take(range(2))] == rows[1:3]
    assert len(table.take([])) == 0
    for wrong, kind in (([4], IndexError), ([-5], IndexError), ([2**70], IndexError),
                        (["x"], TypeError), (5, TypeError)):  # fmt: skip
        with pytest.raises(kind):
            table.take(wrong)


def test_equality(fake, table):
    assert table == fake.fake_table(VALUES)
    assert table[1:3] == fake.fake_table(VALUES[1:3])
    assert table != fake.fake_table(VALUES[:3])
    assert (table != table[:]) is False
    for column in range(13):
        other = list(HIGHEST)
        other[column] = LOWEST[column]
        assert fake.fake_table([HIGHEST]) != fake.fake_table([tuple(other)])
        other[column] = None
        assert fake.fake_table([HIGHEST]) != fake.fake_table([tuple(other)])
    assert table != [tuple(row) for row in table]
    assert table != th.processes()
    with pytest.raises(TypeError):
        hash(table)


def test_empty(fake):
    table = fake.fake_table([])
    assert (len(table), list(table), table.to_dict()) == (0, [], {name: [] for name in COLUMNS})
    assert table == table[5:] == table[::2]
    assert list(table["text"]) == []
    assert table["text"].dictionary == ()


def test_to_dict(table):
    rows = as_rows(VALUES)
    assert table.to_dict() == {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    assert table[1:3].to_dict()["text"] == [HIGHEST[9], LONE[9]]


def test_row_made_twice_shares_text(table):
    assert table[1].text is table[1].text
    assert table[1].text is table[1:].take([0])[0].text


def test_rows_pickle(fake):
    fake.fake_process(4242, 4, "a\ud800.exe", threads=[1])
    fake.fake_module(4242, 0x1000, 1, "m", "C:\\m")
    for rows in (th.processes(), th.threads(), th.modules()):
        assert pickle.loads(pickle.dumps(list(rows))) == list(rows)


# ----- columns -----


def test_columns(table):
    rows = as_rows(VALUES)
    for i, name in enumerate(COLUMNS):
        column = table[name]
        assert list(column) == [row[i] for row in rows]
        assert [column[j] for j in range(-4, 4)] == [rows[j][i] for j in range(-4, 4)]
        for index in (4, -5, 2**70):
            with pytest.raises(IndexError):
                column[index]
        with pytest.raises(TypeError):
            column["x"]
    assert repr(table["u8"]) == "<Column Sample.u8 of 4 uint8>"
    assert repr(table["text"].codes) == "<Column Sample.text of 4 text codes>"


@pytest.mark.parametrize("name", FORMATS)
def test_buffers(table, name):
    values = [row[COLUMNS.index(name)] for row in VALUES]
    values[3] = 0  # missing
    view = memoryview(table[name])
    assert (view.format, view.ndim, view.shape) == (FORMATS[name], 1, (4,))
    assert (view.readonly, view.contiguous) == (True, True)
    assert view.tolist() == values
    part = memoryview(table[1:3][name])
    assert part.tolist() == values[1:3]
    assert part.nbytes == 2 * view.itemsize
    with pytest.raises(TypeError):
        view[0] = 1


def test_buffers_are_not_writable(table):
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x" * 8).readinto(table["u64"])


@pytest.mark.parametrize("name", ["text", "colour", "raw", "stack"])
def test_columns_without_a_buffer(table, name):
    with pytest.raises(BufferError):
        memoryview(table[name])


def test_buffer_outlives_its_table(fake):
    table = fake.fake_table([HIGHEST, LONE])
    view = memoryview(table["u64"])
    del table
    gc.collect()
    assert view.tolist() == [2**64 - 1, 5]


def test_codes_and_dictionary(fake):
    words = ["b", "a", "b", "", "a\ud800"]
    table = fake.fake_table([(*LONE[:9], word, *LONE[10:]) for word in words] + [MISSING])
    column = table["text"]
    assert column.dictionary == ("b", "a", "", "a\ud800")
    codes = memoryview(column.codes)
    assert (codes.format, codes.tolist()) == ("I", [0, 1, 0, 2, 3, 0])
    assert list(column.codes) == [0, 1, 0, 2, 3, None]
    assert [column.dictionary[code] for code in codes.tolist()[:5]] == words
    assert memoryview(table[1:]["text"].codes).tolist() == [1, 0, 2, 3, 0]
    colours = table["colour"]
    assert colours.dictionary == COLOURS
    assert memoryview(colours.codes).format == "B"
    assert list(colours.codes) == [1] * 5 + [None]
    for name in ("u8", "raw"):
        for attribute in ("codes", "dictionary"):
            with pytest.raises(AttributeError):
                getattr(table[name], attribute)


def test_valid(table):
    for name in COLUMNS:
        assert table[name].valid.tolist() == [True, True, True, False]
        assert table[name].valid.format == "?"
        assert table[3:][name].valid.tolist() == [False]
        assert table[:3][name].valid is None


def test_missing_values_across_a_byte_of_the_bitmap(fake):
    pattern = [i % 3 == 0 for i in range(100)]
    table = fake.fake_table([MISSING if missing else LONE for missing in pattern])
    for part in (slice(0, 100), slice(7, 9), slice(8, 90), slice(99, None), slice(90, 3, -7)):
        assert [value is None for value in table[part]["u8"]] == pattern[part]


# ----- NumPy -----


@pytest.mark.needs("numpy")
def test_numpy_views(fake):
    import numpy as np

    table = fake.fake_table([LOWEST, HIGHEST, LONE])
    arrays = table.to_numpy()
    assert tuple(arrays) == COLUMNS
    for name, dtype in {
        "flag": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32,
        "u64": np.uint64, "i64": np.int64, "f64": np.float64, "time": np.int64,
    }.items():  # fmt: skip
        array = arrays[name]
        assert array.dtype == dtype
        assert array.tolist() == list(table[name])
        assert not array.flags.writeable
        assert np.shares_memory(array, table[name].to_numpy())
        assert np.shares_memory(array[1:], table[1:][name].to_numpy())
    for name in ("text", "colour", "raw", "stack"):
        assert arrays[name].dtype == object
        assert arrays[name].shape == (3,)
        assert arrays[name].tolist() == list(table[name])
    assert table["text"].codes.to_numpy().tolist() == [0, 1, 2]


@pytest.mark.needs("numpy")
def test_numpy_with_missing_values(table):
    arrays = table.to_numpy()
    for name in COLUMNS:
        assert arrays[name].dtype == object
        assert arrays[name].tolist() == list(table[name])
    assert table[:3]["u8"].to_numpy().dtype.name == "uint8"


# ----- Arrow -----


def arrow_rows(values):
    """The rows as Arrow gives them back: lone surrogates replaced."""
    return [
        {
            name: value.replace("\ud800", "\ufffd") if isinstance(value, str) else
            list(value) if isinstance(value, tuple) else value
            for name, value in zip(COLUMNS, row, strict=True)
        }
        for row in as_rows(values)
    ]  # fmt: skip


def plain(batch):
    """Timestamps as numbers: Python's have no nanoseconds."""
    import pyarrow as pa

    where = batch.schema.get_field_index("time")
    return batch.set_column(where, "time", batch["time"].cast(pa.int64())).to_pylist()


@pytest.mark.needs("pyarrow")
def test_arrow_schema(table):
    import pyarrow as pa

    text = pa.dictionary(pa.uint32(), pa.large_string())
    expected = [
        ("flag", pa.bool_()), ("u8", pa.uint8()), ("u16", pa.uint16()), ("u32", pa.uint32()),
        ("i32", pa.int32()), ("u64", pa.uint64()), ("i64", pa.int64()), ("f64", pa.float64()),
        ("time", pa.timestamp("ns", "UTC")), ("text", text),
        ("colour", pa.dictionary(pa.uint8(), pa.large_string())), ("raw", pa.large_binary()),
        ("stack", pa.large_list(pa.field("item", pa.uint64(), nullable=False))),
    ]  # fmt: skip
    schema = pa.schema(table)
    assert schema == pa.table(table).schema
    assert [(field.name, field.type) for field in schema] == expected
    assert all(field.nullable for field in schema)


@pytest.mark.needs("pyarrow")
def test_arrow_schema_of_snapshots(fake):
    import pyarrow as pa

    fake.fake_process(4242, 0, "a")
    assert [(f.name, str(f.type), f.nullable) for f in pa.schema(th.modules())] == [
        ("pid", "uint32", False), ("base", "uint64", False), ("size", "uint32", False),
        ("name", "dictionary<values=large_string, indices=uint32, ordered=0>", False),
        ("path", "dictionary<values=large_string, indices=uint32, ordered=0>", False),
        ("path_truncated", "bool", False),
        ("machine", "dictionary<values=large_string, indices=uint8, ordered=0>", True),
    ]  # fmt: skip


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("part", [slice(0, 4), slice(1, 3), slice(3, 4), slice(2, 2)])
def test_arrow_values(table, part):
    import pyarrow as pa

    made = pa.table(table[part])
    made.validate(full=True)
    assert plain(made) == arrow_rows(VALUES[part])


@pytest.mark.needs("pyarrow")
def test_arrow_of_an_empty_table(fake):
    import pyarrow as pa

    made = pa.table(fake.fake_table([]))
    made.validate(full=True)
    assert (made.num_rows, made.column_names) == (0, list(COLUMNS))


@pytest.mark.needs("pyarrow")
def test_arrow_of_many_rows(fake):
    import pyarrow as pa

    values = [MISSING if i % 5 == 0 else VALUES[i % 3] for i in range(1000)]
    table = fake.fake_table(values)
    for part in (slice(0, 1000), slice(3, 997), slice(8, 16), slice(None, None, 7)):
        made = pa.table(table[part])
        made.validate(full=True)
        assert plain(made) == arrow_rows(values[part])
        assert made["u8"].null_count == sum(row is MISSING for row in values[part])


@pytest.mark.needs("pyarrow", "numpy")
def test_arrow_numbers_are_not_copied(table):
    import pyarrow as pa

    for start in (0, 2):
        made = pa.table(table[start:])
        for name in ("u8", "u16", "u32", "i32", "u64", "i64", "f64", "time"):
            chunk = made[name].chunk(0)
            address = chunk.buffers()[1].address + chunk.offset * (chunk.type.bit_width // 8)
            where = table[start:3][name].to_numpy().__array_interface__["data"][0]
            assert address == where


@pytest.mark.needs("pyarrow")
def test_arrow_outlives_the_table(fake):
    import pyarrow as pa

    made = pa.table(fake.fake_table(VALUES))
    gc.collect()
    assert plain(made) == arrow_rows(VALUES)
    del made


@pytest.mark.needs("pyarrow")
def test_arrow_is_released_from_another_thread(fake):
    import pyarrow as pa

    before = fake.fake_live_blocks()
    held = [pa.table(fake.fake_table(VALUES)) for _ in range(10)]
    assert fake.fake_live_blocks() > before
    worker = threading.Thread(target=held.clear)
    worker.start()
    worker.join()
    gc.collect()
    assert fake.fake_live_blocks() == before


@pytest.mark.needs("pyarrow")
def test_arrow_stream_gives_its_batch_once(table):
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(table)
    assert reader.read_next_batch().num_rows == 4
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    assert pa.table(table, schema=None).num_rows == 4


def test_arrow_capsules_that_nobody_takes(fake, table):
    blocks = fake.fake_live_blocks()
    for capsule in (table.__arrow_c_schema__(), table.__arrow_c_stream__(),
                    table.__arrow_c_stream__(requested_schema=None)):  # fmt: skip
        assert "arrow_" in repr(capsule)
        del capsule
    assert fake.fake_live_blocks() == blocks


def test_replaced_text_is_counted(fake, table):
    assert table.replaced_text == 1
    assert table[:2].replaced_text == 0
    lone = ["\ud800", "\udc00x", "\ud800\ud800", "\ud83d\ude00", "x"]
    made = fake.fake_table([(*LONE[:9], word, *LONE[10:]) for word in lone])
    # The fourth is a pair, written as two escapes, and so one character.
    assert made.replaced_text == 3
    assert made["text"][3] == "\U0001f600"


@pytest.mark.needs("hypothesis", "pyarrow")
def test_any_table_comes_back_from_arrow(fake):
    import pyarrow as pa
    from hypothesis import given
    from hypothesis import strategies as st

    def maybe(strategy):
        return st.none() | strategy

    rows = st.lists(
        st.tuples(
            maybe(st.booleans()), maybe(st.integers(0, 255)), maybe(st.integers(0, 2**16 - 1)),
            maybe(st.integers(0, 2**32 - 1)), maybe(st.integers(-(2**31), 2**31 - 1)),
            maybe(st.integers(0, 2**64 - 1)), maybe(st.integers(-(2**63), 2**63 - 1)),
            maybe(st.floats(allow_nan=False)), maybe(st.integers(-(2**63), 2**63 - 1)),
            maybe(st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
            maybe(st.integers(0, 2)), maybe(st.binary(max_size=9)),
            maybe(st.lists(st.integers(0, 2**64 - 1), max_size=4).map(tuple)),
        ),
        max_size=30,
    )  # fmt: skip

    @given(rows)
    def check(values):
        table = fake.fake_table(values)
        assert [tuple(row) for row in table] == as_rows(values)
        made = pa.table(table)
        made.validate(full=True)
        assert plain(made) == arrow_rows(values)
        assert table == fake.fake_table(values)

    check()


# ----- exceptions -----


def test_exceptions_pickle(fake):
    fake.fake_fail("CreateToolhelp32Snapshot", code=24, persist=True)
    caught = []
    for call in (th.processes, lambda: th.modules(0)):
        with pytest.raises(th.ToolhelpError) as info:
            call()
        caught.append(info.value)
    partial = th.PartialCopy("x", winerror=299, function="f", pid=3, attempts=2)
    partial.reason = "exiting"
    for error in [*caught, partial]:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.errno == error.errno
        for name in ("winerror", "function", "pid", "attempts"):
            assert getattr(again, name) == getattr(error, name)
    assert pickle.loads(pickle.dumps(partial)).reason == "exiting"
    damaged = pickle.loads(pickle.dumps(th.CorruptTrace("bad", 17)))
    assert (type(damaged), str(damaged), damaged.offset) == (th.CorruptTrace, "bad", 17)
