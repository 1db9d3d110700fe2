"""Sheets: what laboratories write is read or refused with a sentence; what is written is read."""

import csv
import io
import math
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allgood._internal.results import Hint
from allgood.study.plates import Plate, well_position
from allgood.study.tables.reader import TableError
from allgood.study.tables.sheets import AskedRow, ToldRow, read_rows, read_sheet, write_sheet
from allgood.study.tables.values import number, with_decimal_point

from ..support.effort import examples

# What can stand in a cell: every character but NUL and halves of surrogate pairs.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
AWKWARD = st.sampled_from([*"=+-@'\",;\t\r\n\ufeff\u2028\x85\x1c ", "\r\n", '""', "a", "\u00e9"])
NAMES = TEXT | st.lists(AWKWARD).map("".join)


def read(content, **options):
    return read_sheet(
        io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content), **options
    )


def refusal(content, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the caller matches the sentence
        read(content, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message[0].isupper()
    assert message[-1] in ".?"
    return message


def attempt(function, argument):
    """What the function returns; None if it refuses, in one line and in words of its own."""
    try:
        return function(argument)
    except ValueError as error:
        refused = error
    assert len(str(refused).splitlines()) == 1
    assert not isinstance(refused, UnicodeError)
    return None


def test_a_sheet_is_read():
    assert read("ticket,value\nab12-1,1.5\nab12-2,\n").rows == (
        ToldRow(2, "ab12-1", "1.5"),
        ToldRow(3, "ab12-2", ""),
    )


def test_arms_and_wells_are_read_where_they_are():
    sheet = read("Well,TICKET,note, Arm ,value,plate,\nA1, ab12-1 ,fresh,  x ,1, 1,\n")
    note = {"note": "fresh"}
    assert sheet.rows == (ToldRow(2, "ab12-1", "1", "  x ", "A1", "1", extra=note),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_spreadsheets_of_all_countries(end, delimiter, encoding):
    """What the rows hold does not hang on how they are written down."""
    lines = [
        ["ticket", "arm", "value"],
        ["k-1", '"a,b;c\td ""\u00e9"""', "1.5"],
        [],
        ["k-2", "x", "2"],
        ["", "", ""],
    ]
    text = end.join(delimiter.join(line) for line in lines) + end
    rows = read(text.encode(encoding)).rows
    assert [(r.ticket, r.arm, r.value, r.problem) for r in rows] == [
        ("k-1", 'a,b;c\td "\u00e9"', "1.5", None),
        ("k-2", "x", "2", None),
    ]
    assert [r.line for r in rows] == ([2, 4] if len(end.strip("\n")) < 2 else [3, 7])
    assert read(text).rows == rows


def test_windows_letters_are_read_and_said():
    content = "ticket,arm,value\nk-1,\u00e9 \u20ac \u00b5,1\n"
    sheet = read(content.encode("cp1252"))
    assert sheet.rows == read(content).rows == (ToldRow(2, "k-1", "1", "\u00e9 \u20ac \u00b5"),)
    assert sheet.notes == ("The sheet is not in UTF-8, and was read as Windows-1252.",)
    assert read(content.encode()).notes == read(content.encode("utf-16")).notes == ()


def test_big_endian_too():
    assert read(b"\xfe\xff" + "ticket,value\nk-1,1\n".encode("utf-16-be")).rows == (
        ToldRow(2, "k-1", "1"),
    )


@pytest.mark.parametrize("kind", [str, "path", "bytes", "text", "console"])
def test_paths_and_streams(tmp_path, kind):
    path = tmp_path / "sheet.csv"
    content = 'ticket,arm,value\nk-1,"a\r\nb",1\n'.encode("utf-16")
    path.write_bytes(content)
    source = {
        str: str(path),
        "path": path,
        "bytes": io.BytesIO(content),
        "text": io.StringIO(content.decode("utf-16"), newline=""),
        "console": io.TextIOWrapper(io.BytesIO(content), encoding="ascii"),
    }[kind]
    assert read_sheet(source).rows == (ToldRow(2, "k-1", "1", "a\r\nb"),)


def test_lines_are_those_of_the_file_where_the_row_begins():
    rows = read('\n\n"ticket",value,note\n\nk-1,1,"two\nlines"\nk-2,2,\n,,\n\nk-3,3,').rows
    assert [(r.ticket, r.line) for r in rows] == [("k-1", 5), ("k-2", 7), ("k-3", 10)]


@pytest.mark.parametrize(
    "header",
    [
        "ticket;value, mg/l;value",
        "a,b,c,d;ticket;value",
        '"a,b,c,d";ticket;value',
        "value;ticket",
        "\tticket\tvalue",
    ],
)
def test_the_delimiter_is_that_of_the_header(header):
    delimiter = "\t" if "\t" in header else ";"
    index = [name.strip() for name in header.split(delimiter)].index("ticket")
    cells = ["1"] * (header.count(delimiter) + 1)
    cells[index] = "k-1"
    (row,) = read(f" \n{header}\n{delimiter.join(cells)}\n").rows
    assert (row.line, row.ticket, row.value, row.problem) == (3, "k-1", "1", None)


def test_other_columns_can_be_named():
    content = "Sample;Value;Signal (AU)\nk-1;no;1.5\n"
    sheet = read(content, ticket_column="sample ", value_column="signal (au)")
    assert sheet.rows == (ToldRow(2, "k-1", "1.5", extra={"Value": "no"}),)


def test_rows_that_do_not_fit_have_a_problem():
    rows = read("well,ticket,value\nA1,k-1\nA2,k-2,2,3\nA3,k-3,3\nA4\n").rows
    assert rows == (
        ToldRow(2, "k-1", "", None, "A1", problem="the row has 2 cells, the header 3"),
        ToldRow(3, "k-2", "2", None, "A2", problem="the row has 4 cells, the header 3"),
        ToldRow(4, "k-3", "3", None, "A3"),
        ToldRow(5, "", "", None, "A4", problem="the row has 1 cells, the header 3"),
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The sheet is empty: line 1 must hold the names of the columns."),
        (
            b"\xef\xbb\xbf \r\n,,\n\n",
            "The sheet is empty: line 1 must hold the names of the columns.",
        ),
        (
            b"\nticket,value\n\n,\n",
            "The sheet has no rows below the header on line 2.  Add rows below it.",
        ),
        (
            b"ticket,value\nk-1,1\nk-2,\xe9\x81\n",
            "The sheet must be text in UTF-8: got other bytes on line 3; save it as",
        ),
        (
            b"\xff\xfet\0i\0\n\0\0\xd8",
            "The sheet must be text in UTF-8: got other bytes on line 2; save it as CSV",
        ),
        (
            b"ticket,value\r\nk-1,\0\n",
            r"The sheet must be text: got the character '\x00' on line 2; save it as CSV",
        ),
        (
            "ticket,value\rk-1,\udce9\n",
            r"The sheet must be text: got the character '\udce9' on line 2; save it as",
        ),
        (
            "ticket,value".encode("utf-16-le"),
            r"The sheet must be text: got the character '\x00' on line 1",
        ),
        (
            b"PK\x03\x04\x14\0\x06\0",
            "The workbook cannot be read (BadZipFile): save it as .xlsx or as CSV UTF-8.",
        ),
        (
            b'ticket,value\nk-1,1\nk-2,"2\nk-3,3\n',
            "Line 3 of the sheet cannot be read, unexpected end of data: are its",
        ),
        (
            b'ticket,value\n"k"-1,1\n',
            "Line 2 of the sheet cannot be read, ',' expected after '\"': are its quotes closed?",
        ),
        (
            b"ticket,value\n1," + b"x" * 100_001,
            "Line 2 of the sheet has a cell of more than 100000 characters",
        ),
        (
            b"ticket,value\n1," + b"x" * 200_000,
            "Line 2 of the sheet cannot be read, field larger than field limit",
        ),
        (b"x" * 200_000, "Line 1 of the sheet cannot be read, field larger than field limit"),
        (
            b"ticket,value,VALUE \nk,1,2",
            "Line 1 of the sheet must name each column once: got 'value' 2 times.",
        ),
        (
            b"ticket,arm,value,Arm\nk,a,2,b",
            "Line 1 of the sheet must name each column once: got 'arm' 2 times.",
        ),
        (
            b"\nTicket,Val ue,well\nk,1,A1",
            "Line 2 of the sheet must name a column 'value': got 'Ticket', 'Val ue', "
            "'well'; nearest is 'Val ue'.",
        ),
        (
            b"Tickets,value\nk,1",
            "Line 1 of the sheet must name a column 'ticket': got 'Tickets', 'value'; "
            "nearest is 'Tickets'.",
        ),
        (b"x,y\n1,2", "column 'ticket': got 'x', 'y'."),
        (b"x," * 30 + b"\n1,2", "column 'ticket': got 'x'."),
        (
            b'ticket,"a\nb"\n1,2',
            r"column 'value': got 'ticket', 'a\nb'.",
        ),
    ],
    ids=range(21),
)
def test_what_cannot_be_read_is_refused_with_its_line(content, sentence):
    assert sentence in refusal(content)


def test_many_columns_are_not_all_listed():
    message = refusal(",".join(f"c{i}" * 30 for i in range(100)) + "\n1")
    assert message.endswith(" and 80 more.")
    assert len(message) < 1200


@pytest.mark.parametrize(
    ("source", "option"),
    [
        (io.StringIO("x,value\n1,2\n"), "ticket_column"),
        (io.StringIO("ticket,x\n1,2\n"), "value_column"),
        ({"ticket": ["k"], "x": [1]}, "value_column"),
    ],
    ids=["ticket", "value", "columns"],
)
def test_an_error_about_a_column_says_which_argument_names_it(source, option):
    with pytest.raises(TableError) as caught:
        read_sheet(source)
    assert caught.value.hints == (Hint("name_column", option),)
    assert caught.value.argument == "rows"


def test_headings_are_compared_alike_in_files_frames_and_lists():
    rows = [("k-1", "1.5")]
    for source in (
        io.StringIO("Ticket , VALUE\nk-1,1.5\n"),
        {"Ticket": ["k-1"], " VALUE": ["1.5"]},
        [{"TICKET": "k-1", "value ": "1.5"}],
        rows,
    ):
        assert [(row.ticket, row.value) for row in read_rows(source).rows] == rows
    with pytest.raises(ValueError, match="rows must name each column once: got 'value' 2 times"):
        read_rows([{"ticket": "k-1", "value": 1, "Value": 2}])
    with pytest.raises(ValueError, match="columns of one length: got 1 and 2"):
        read_rows({"ticket": ["k-1"], "value": [1, 2]})
    with pytest.raises(TypeError, match="rows must be a file, a table, or a list of mappings or p"):
        read_rows(3)


def test_one_column_cannot_be_both():
    assert "must have a column each: got 'Value' for both" in refusal(
        "value\n1\n", ticket_column="Value"
    )


def test_a_double_column_that_nobody_reads_does_no_harm():
    [row] = read("ticket,value,note,note\nk,1,a,b\n").rows
    assert row.extra == {"note": "a", "note (column 4)": "b"}


def test_other_columns_are_kept_within_limits():
    names = ["", *(f"c{i}" for i in range(24)), "empty"]
    rows = [["x" * 1001, *map(str, range(24)), " "], [*map(str, range(25)), ""]]
    lines = [["ticket", "value", *names], ["k-1", "1", *rows[0]], ["k-2", "2", *rows[1]]]
    sheet = read("\n".join(",".join(line) for line in lines))
    assert sheet.rows[0].extra == {f"c{i}": str(i) for i in range(20)}
    assert sheet.notes == (
        "Columns that are not kept, as a sheet may have 20 besides those of allgood, with at most "
        "1000 characters a cell: 'column 3', 'c20', 'c21', 'c22', 'c23'.",
    )
    [row] = read("ticket,value,note\nk-1,1, two words \n").rows
    assert row.extra == {"note": "two words"}
    [row] = read("ticket,value,note\nk-1,1,\n").rows
    assert row.extra == {}


def test_a_missing_file_is_an_operating_system_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_sheet(tmp_path / "none.csv")


SCRAPS = [
    b"ticket",
    b"value",
    b"arm",
    b"well",
    b",",
    b";",
    b"\t",
    b'"',
    b"\r",
    b"\n",
    b" ",
    b"\0",
    b"\xe9",
    b"=",
    b"'",
]


@examples(100)
@given(st.binary() | st.lists(st.sampled_from(SCRAPS) | st.binary(max_size=3)).map(b"".join))
@example(b"\xff\xfe")
@example(b"\xff\xfe\0")
@example(b"\xef\xbb\xbf")
def test_any_bytes_are_read_or_refused_in_one_line(content):
    for prefix in (b"", b"ticket,value,arm\n", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"):
        sheet = attempt(read, prefix + content)
        for row in sheet.rows if sheet else ():
            assert row.ticket == row.ticket.strip()
            value = attempt(number, row.value)
            assert value is None or math.isfinite(value)


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " ", "\t ", "\u00a0"])
)
def test_numbers_come_back_exactly(value, blank):
    for text in (repr(value), f"{value:.17e}", f"{value:+.17E}", f"{value:.400f}"):
        if float(text) or not value:
            got = number(blank + text + blank)
            assert got == float(text)
            assert math.copysign(1.0, got) == math.copysign(1.0, value)
    assert number(repr(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        ("+5.", 5.0),
        (".5", 0.5),
        ("-0", -0.0),
        ("007", 7.0),
        ("1E3", 1e3),
        ("0e-999", 0.0),
        ("00.0e9", 0.0),
        ("5e-324", 5e-324),
        ("1.7976931348623157e308", sys.float_info.max),
        ("9" * 300, float("9" * 300)),
    ],
)
def test_plain_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is missing"),
        (" \t", "is missing"),
        ("1,5", "must have a decimal point, not a decimal comma: got '1,5'; write 1.5"),
        ("-0,5e3", "not a decimal comma: got '-0,5e3'; write -0.5e3"),
        ("1234,567", "not a decimal comma: got '1234,567'; write 1234.567"),
        (",5", "not a decimal comma: got ',5'; write .5"),
        (
            "1,234",
            "must have no comma: got '1,234'; write 1.234 for a decimal comma, 1234 for thousands",
        ),
        ("nan", "must be finite: got 'nan'"),
        ("NaN", "must be finite: got 'NaN'"),
        ("-inf", "must be finite: got '-inf'"),
        ("Infinity", "must be finite: got 'Infinity'"),
        ("1e999", "must be within double precision: got '1e999', which is too large"),
        ("-1e999", "got '-1e999', which is too large"),
        ("1e-999", "must be within double precision: got '1e-999', which is too small"),
        ("0." + "0" * 400 + "1", "0...', which is too small"),
        *(
            (
                text,
                f"plain decimal number, such as 1.5 or -2e-3, without a unit: got {text!r}",
            )
            for text in (
                "1_000",
                "0x10",
                "\uff11\uff12",
                "\u0661",
                "12 mg",
                "1.5.2",
                "1e",
                "e5",
                ".",
                "+",
                "--1",
                "1 000",
                "1,234,567",
                "1.234,5",
                "\u22121.5",
                "<0.1",
                "n/a",
                "1e5.5",
                "1.5\n2",
                "\u00bd",
                "true",
                "5%",
            )
        ),
    ],
)
def test_other_texts_are_no_numbers(text, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is matched below
        number(text)
    assert sentence in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@given(st.text() | st.lists(st.sampled_from(list("0123456789.,eE+-_ xinfa\uff11"))).map("".join))
def test_a_number_is_what_python_reads_or_nothing(text):
    """All that is taken is finite and what float() makes of it; what float() refuses is refused."""
    got = attempt(number, text)
    if got is not None:
        assert math.isfinite(got)
        assert got == float(text)
        assert text.strip().isascii()
        assert "_" not in text


@pytest.mark.parametrize(
    "text", ["1" * 100_000 + "x", "1." + "1" * 100_000 + "x", "1," * 50_000, "+" * 100_000]
)
def test_long_rubbish_is_refused_without_delay(text):
    """Patterns that backtrack over each other would take hours."""
    assert attempt(number, text) is None


def written(rows):
    stream = io.StringIO(newline="")
    write_sheet(stream, rows)
    return stream.getvalue()


def test_a_sheet_as_it_is_written():
    rows = [
        AskedRow("k-1", "x, y", 1, "B1"),
        AskedRow("k-2", "=x", 1, "A10"),
        AskedRow("", "DMSO", 1, "A2"),
        AskedRow("k-3", "z"),
    ]
    assert written(rows) == (
        "plate,well,ticket,arm,value\r\n1,A2,,DMSO,\r\n1,A10,k-2,'=x,\r\n"
        '1,B1,k-1,"x, y",\r\n,,k-3,z,\r\n'
    )


@given(st.lists(NAMES, min_size=1), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@example(
    [
        "=A1",
        "'=A1",
        "''=A1",
        "'",
        "''",
        "+1",
        "-1",
        "@x",
        " =x",
        "\t@x",
        "\r=x",
        "'x",
        "a=b",
        "",
        "'\n-",
    ],
    "utf-8",
)
def test_arms_survive_the_round_trip(names, encoding):
    text = written([AskedRow(f"k-{i}", name) for i, name in enumerate(names)])
    sheet = read(text.encode(encoding))
    assert [(r.ticket, r.arm, r.value, r.well, r.problem) for r in sheet.rows] == [
        (f"k-{i}", name, "", "", None) for i, name in enumerate(names)
    ]
    assert all(row.extra == {} for row in sheet.rows)


SIGNS = {*"=+-@\uff1d\uff0b\uff0d\uff20"}  # the last four are of full width


@given(st.lists(NAMES, min_size=1))
@example(["\n", "\tx", "\uff1dA1"])
def test_no_cell_is_a_formula_and_only_such_names_are_changed(names):
    text = written([AskedRow(f"k-{i}", name) for i, name in enumerate(names)])
    cells = [row[3] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    for name, cell in zip(names, cells, strict=True):
        assert cell.strip()[:1] not in SIGNS or not cell
        assert cell[:1] not in {*"\t\r\n"} or not cell
        bare = name.lstrip("'")
        if not bare or (bare.strip()[:1] not in SIGNS and bare[0] not in "\t\r\n"):
            assert cell == name


def test_a_spreadsheet_that_drops_the_apostrophe_does_no_harm():
    assert read("ticket,arm,value\nk-1,=A1,2\n").rows == (ToldRow(2, "k-1", "2", "=A1"),)


@given(st.integers(0, 1000), st.integers(1, 90))
def test_plates_survive_the_round_trip_in_the_order_of_their_wells(seed, size):
    plate = Plate(8, 12, {"DMSO": 2, "-blank": ["A1"]})
    layouts = {number_: plate.arrange(range(size), seed, number_) for number_ in (2, 1)}
    asked = [
        AskedRow(f"k-{p}-{i}", f"arm {i}", p, w)
        for p, l in layouts.items()
        for i, w in enumerate(l.wells)
    ]
    asked += [
        AskedRow("", name, p, w) for p, l in layouts.items() for w, name in l.controls.items()
    ]
    rows = read(written(reversed(asked))).rows
    assert {(r.ticket, r.arm, r.well) for r in rows} == {(a.ticket, a.arm, a.well) for a in asked}
    wells = [well_position(row.well) for row in rows]
    half = len(rows) // 2
    assert wells == sorted(wells[:half]) + sorted(wells[half:])
    assert [line.split(",")[0] for line in written(asked).split("\r\n")[1:-1]] == ["2"] * half + [
        "1"
    ] * half


@pytest.mark.parametrize(("arm", "mark"), [("x", b""), ("\u00e9", b"\xef\xbb\xbf")])
def test_files_have_a_mark_where_spreadsheets_need_it(tmp_path, arm, mark):
    path = tmp_path / "sheet.csv"
    write_sheet(path, [AskedRow("k-1", arm)])
    assert path.read_bytes() == mark + f"plate,well,ticket,arm,value\r\n,,k-1,{arm},\r\n".encode()
    assert read_sheet(str(path)).rows == (ToldRow(2, "k-1", "", arm, "", ""),)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "rows must not be empty"),
        (
            [AskedRow("k-1", "a\0")],
            r"rows must be text of at most 100000 characters a cell: got 'a\\x00'",
        ),
        (
            [AskedRow("k-1", "\ud800")],
            r"rows must be text of at most 100000 characters a cell: got '\\ud800'",
        ),
        (
            [AskedRow("k-1", "a" * 100_001)],
            "rows must be text of at most 100000 characters a cell: got 'aaa",
        ),
        (
            [AskedRow("k-1", "a", 1, "A0")],
            "well must be a row's letters and a column's number, such as A1: got 'A0'",
        ),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, rows, message):
    path = tmp_path / "sheet.csv"
    with pytest.raises(ValueError, match=message):
        write_sheet(path, rows)
    assert not path.exists()


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " ", ">"]))
def test_decimal_commas_come_back_exactly(value, before):
    for text in (f"{before}{value!r}", f"{before}{value:.17e}", f"{before}{value:.0f}"):
        told = with_decimal_point(text.replace(".", ","))
        assert told == text
        if "." in text:
            with pytest.raises(ValueError, match="must have a decimal comma, not a point: got "):
                with_decimal_point(text)


@pytest.mark.parametrize("text", ["", "x", "1.234,5", "1,234,567", "1,5 mg", "n.d.", "a,b", "1;5"])
def test_what_is_no_number_keeps_its_commas(text):
    assert with_decimal_point(text) == text


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Variant;Visitors;Conversions\nred;10;3\n", ["name_column", "counts_table"]),
        ("arm,n,sum\nred,10,3\n", ["name_column", "counts_table"]),
        ("\t1\t2\t3\nA\t1.0\t2.0\t3.0\n", ["name_column", "grid"]),
        ("arm,value\nred,10\n", ["name_column"]),
        ("ticket,x\nabcd-1,10\n", ["name_column"]),
    ],
)
def test_a_sheet_of_another_kind_is_recognised(text, codes):
    with pytest.raises(TableError) as refused:
        read_rows(io.StringIO(text))
    assert [hint.code for hint in refused.value.hints] == codes
