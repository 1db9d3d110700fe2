"""Files that are small and would take all memory, or all time, are refused with a sentence."""

import datetime
import io
import subprocess
import sys
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood.study.tables import files, workbooks
from allgood.study.tables.counts import read_counts
from allgood.study.tables.sheets import read_arms, read_grid, read_sheet
from allgood.study.tables.workbooks import read_cells

from ..reference.workbooks import read_rows
from ..support.command_line import allgood
from ..support.effort import examples

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TYPES = (  # without this part other readers refuse the file before they look at its cells
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KINDS}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KINDS}.worksheet+xml"/>'
    f'<Override PartName="/xl/sharedStrings.xml" ContentType="{KINDS}.sharedStrings+xml"/>'
    "</Types>"
)
HEADER = '<row r="1"><c r="A1" t="str"><v>ticket</v></c><c r="B1" t="str"><v>value</v></c></row>'


def relations(*pairs):
    listed = "".join(
        f'<Relationship Id="r{i}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(pairs, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}">{listed}</Relationships>'


def parts(rows, strings="", doctype="", sheets=1):
    """The parts of a workbook, by their names."""
    names = "".join(f'<sheet name="s{i}" sheetId="{i}" r:id="r1"/>' for i in range(1, sheets + 1))
    return {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "/xl/sharedStrings.xml")
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        "xl/worksheets/sheet1.xml": f'{doctype}<worksheet xmlns="{MAIN}"><sheetData>{rows}'
        "</sheetData></worksheet>",
    }


def packed(contents, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return out.getvalue()


def laughs():
    """Entities that expand to 300 million characters."""
    steps = zip("abcdefg", "bcdefgh", strict=True)
    entities = "".join(f'<!ENTITY {new} "{10 * f"&{old};"}">' for old, new in steps)
    return f'<!DOCTYPE l [<!ENTITY a "{10 * "ha "}">{entities}]>'


def numbered(count, cell):
    """Rows from the second on, each with one cell."""
    return "".join(f'<row r="{i}">{cell.format(i)}</row>' for i in range(2, count + 2))


def one_cell(text):
    return f'<row r="2"><c r="A2" t="str"><v>{text}</v></c></row>'


BOMBS = {
    "a cell at the end": (
        lambda: packed(parts(HEADER + numbered(20_000, '<c r="XFD{}"><v>1</v></c>'))),
        "Cell XFD2 of the workbook lies beyond column 1000",
    ),
    "the very last cell": (
        lambda: packed(
            parts(HEADER + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        ),
        "Cell XFD1048576 of the workbook lies beyond column 1000",
    ),
    "a wide row": (
        lambda: packed(parts(f"<row>{1_000_000 * '<c><v>1</v></c>'}</row>")),
        "Cell ALM1 of the workbook lies beyond column 1000",
    ),
    "many rows": (
        lambda: packed(parts(HEADER + 250_000 * "<row><c><v>1</v></c></row>")),
        "The workbook has more than 200000 filled rows",
    ),
    "one string in many cells": (
        lambda: packed(
            parts(
                HEADER + numbered(20_000, '<c r="A{}" t="s"><v>0</v></c>'),
                f"<si><t>{4000 * '_x0041_'}</t></si>",
            )
        ),
        "The workbook has more than 50000000 characters",
    ),
    "many strings": (
        lambda: packed(parts(HEADER, 2_100_000 * "<si/>")),
        "The workbook has more than 2000000 filled cells",
    ),
    "a long string": (
        lambda: packed(parts(HEADER, f"<si><t>{10_000_000 * 'x'}</t></si>")),
        "The workbook has a cell of more than 32767 characters",
    ),
    "a long text": (
        lambda: packed(parts(HEADER + one_cell(40_000 * "x"))),
        "Cell A2 of the workbook has more than 32767 characters",
    ),
    "entities": (
        lambda: packed(parts(HEADER + one_cell("&h;"), doctype=laughs())),
        "The workbook's part 'xl/worksheets/sheet1.xml' has a DOCTYPE",
    ),
    "an entity of another file": (
        lambda: packed(
            parts(
                HEADER + one_cell("&a;"),
                doctype='<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
            )
        ),
        "The workbook's part 'xl/worksheets/sheet1.xml' has a DOCTYPE",
    ),
    "a large part": (
        lambda: packed(parts(HEADER + 110_000_000 * " ")),
        "The workbook must be of at most 100 MB, unpacked: got a larger one",
    ),
    "a long tag": (
        lambda: packed(parts(f'<row spans="{3_000_000 * "1"}"/>')),
        "has a tag of more than 1000000 bytes",
    ),
    "another kind of packing": (
        lambda: packed(parts(HEADER + 50_000_000 * " "), zipfile.ZIP_BZIP2),
        "'_rels/.rels' is packed in an unusual way",
    ),
    "many parts": (
        lambda: packed(parts(HEADER) | {f"xl/{i}": "" for i in range(11_000)}),
        "The workbook has more than 10000 parts",
    ),
    "many empty cells": (
        lambda: packed(parts(HEADER + f'<row r="2">{3_100_000 * "<c/>"}</row>')),
        "The workbook has more than 3000000 cells, filled or empty",
    ),
    "one line of a CSV file": (
        lambda: b"ticket,value," + 60_000_000 * b"x",
        "Line 1 of the sheet has more than 1000000 characters",
    ),
    "commas": (
        lambda: b"ticket,value\n" + 60_000_000 * b",",
        "Line 2 of the sheet has more than 1000000 characters",
    ),
    "one row on many lines": (
        lambda: b"ticket,value\n" + 1_000_000 * b'a,"\n",',
        "Line 2 of the sheet has more than 1000000 characters",
    ),
    "many columns": (
        lambda: b"ticket,value" + 100_000 * b",c",
        "Line 1 of the sheet has 100002 cells, and at most 1000 are read",
    ),
    "many rows of a CSV file": (
        lambda: b"ticket,value\n" + 10_000_000 * b"k,1\n",
        "The sheet has more than 200000 rows",
    ),
    "many cells of a CSV file": (
        lambda: b"ticket,value\n" + 20_000 * (800 * b"x," + b"\n"),
        "The sheet has more than 2000000 cells",
    ),
    "a large CSV file": (
        lambda: b"ticket,value\n" + 101_000_000 * b" ",
        "The file has more than 100 MB",
    ),
    "a character that is no text": (
        lambda: b"ticket,value\n" + 5_000_000 * b"k,1\n" + b"\0",
        "The sheet must be text: got the character '\\x00' on line 5000002",
    ),
}

READER = """
import resource, sys
from allgood.study.tables import sheets
import openpyxl.styles.numbers, openpyxl.utils.datetime

def address_space():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

limit = address_space() + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
try:
    sheets.read_sheet(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_little_memory(tmp_path, name):
    """The process may take 250 MB, beside the file and its text."""
    make, sentence = BOMBS[name]
    path = tmp_path / "bomb"
    path.write_bytes(make())
    allowance = 250_000_000 + 2 * path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path), str(allowance)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sentence in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_false_size_in_the_directory_is_not_trusted():
    """The directory says 100 bytes, and the part unpacks to much more."""
    content = bytearray(packed(parts(HEADER + numbered(100, '<c r="A{}"><v>1</v></c>'))))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        name = "xl/worksheets/sheet1.xml"
        size = archive.getinfo(name).file_size
    record = content.rindex(name.encode()) - 46
    assert content[record : record + 4] == b"PK\x01\x02"
    assert int.from_bytes(content[record + 24 : record + 28], "little") == size
    content[record + 24 : record + 28] = (100).to_bytes(4, "little")
    with pytest.raises(ValueError, match="The workbook cannot be read"):
        read_cells(bytes(content))


@pytest.mark.parametrize("read", [lambda c: read_grid(c, 1), lambda c: read_arms(c, "arm")])
def test_every_reader_has_the_limits(read):
    with pytest.raises(ValueError, match="has more than 1000000 characters"):
        read(io.BytesIO(b"arm\n" + 2_000_000 * b"x"))
    with pytest.raises(ValueError, match="has more than 1000000 characters"):
        read_counts(io.BytesIO(b"arm\n" + 2_000_000 * b"x"))


def test_claims_have_the_limits(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("arm,n,sum\n" + 2_000_000 * "x")
    done = allgood("claims", path, "--epsilon", "0.1", "--sigma", "1")
    assert done.returncode == 2
    assert "Line 2 of the sheet has more than 1000000 characters" in done.stderr
    monkeypatch.setattr(files, "LARGEST_FILE", 1_000_000)
    done = allgood("claims", path, "--epsilon", "0.1", "--sigma", "1")
    assert (done.returncode, "The file has more than 1 MB" in done.stderr) == (2, True)


def test_far_cells_within_the_limits_cost_nothing():
    """Rows are as long as the widest, and only their filled cells are stored."""
    rows = HEADER + numbered(3, '<c r="ALL{0}"><v>{0}</v></c>')
    found, notes = read_cells(packed(parts(rows)))
    assert notes == ()
    assert [(line, len(row), row.filled) for line, row in found] == [
        (1, 1000, {0: "ticket", 1: "value"}),
        *((i, 1000, {999: i}) for i in (2, 3, 4)),
    ]
    row = found[1][1]
    assert (row[0], row[999], row[-1], row[997:]) == ("", 2, 2, ["", "", 2])
    assert list(row) == [*[""] * 999, 2]
    with pytest.raises(IndexError):
        row[1000]


def test_work_grows_with_the_filled_cells_only(monkeypatch):
    """No reader looks at each cell of the rectangle that the filled cells span."""
    rows = HEADER + numbered(2_000, '<c r="A{0}"><v>{0}</v></c><c r="ALL{0}"><v>1</v></c>')
    content = packed(parts(rows))
    asked = []
    get = workbooks.SparseRow.__getitem__
    monkeypatch.setattr(
        workbooks.SparseRow, "__getitem__", lambda row, i: asked.append(i) or get(row, i)
    )
    assert len(read_sheet(io.BytesIO(content)).rows) == 2_000
    with pytest.raises(ValueError, match="must name a column 'arm'"):
        read_counts(io.BytesIO(content))
    with pytest.raises(ValueError, match="must hold one grid"):
        read_grid(io.BytesIO(content), 1)
    assert len(asked) < 30 * 2_000


def test_many_sheets_are_counted_and_few_are_named():
    _, [note] = read_cells(packed(parts(HEADER, sheets=3_000)))
    assert note == "Only the first worksheet was read, not 's2', 's3', 's4', 's5', 's6', ...."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ('<row r="3"/><row r="2"/>', "Row 2 of the workbook stands below row 3"),
        (
            '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
            "Cell A2 of the workbook is there twice",
        ),
        (
            '<row r="2"><c r="A3"><v>1</v></c></row>',
            "A cell in row 2 of the workbook has the place",
        ),
        ('<row r="2"><c r="A2"><v>1_0</v></c></row>', "Cell A2 of the workbook should hold a num"),
        ('<row r="2"><c r="A2" t="s"><v>-1</v></c></row>', "refers to a text that is not there"),
    ],
)
def test_what_no_spreadsheet_writes_is_refused(rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_cells(packed(parts(rows, "<si><t>x</t></si>")))


def test_strings_of_runs_and_escapes():
    strings = (
        "<si><r><t>a</t></r><r><t xml:space='preserve'> b</t></r><rPh><t>no</t></rPh></si>"
        "<si><t>_x005F_x0041_</t></si><si/>"
    )
    cells = "".join(f'<c t="s"><v>{i}</v></c>' for i in range(3))
    [(_, row)], _ = read_cells(packed(parts(f"<row>{cells}</row>", strings)))
    assert row.filled == {0: "a b", 1: "_x0041_"}


MOMENTS = st.datetimes(datetime.datetime(1901, 1, 1), datetime.datetime(2200, 1, 1))
CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(-1e60, 1e60, allow_subnormal=False)
    | st.dates(datetime.date(1901, 1, 1), datetime.date(2200, 1, 1))
    | MOMENTS.map(lambda moment: moment.replace(microsecond=0))
    | st.times().map(lambda time: time.replace(microsecond=0))
    | st.timedeltas(datetime.timedelta(0), datetime.timedelta(90)).map(
        lambda span: datetime.timedelta(seconds=span.seconds)
    )
    | st.text(st.characters(codec="ascii", categories=["L", "N", "Zs"]), max_size=8)
)


@examples(40)
@given(st.lists(st.lists(CELLS, max_size=6), min_size=1, max_size=8), st.booleans())
def test_workbooks_are_read_as_openpyxl_reads_them(rows, from_1904):
    book = openpyxl.Workbook()
    if from_1904:
        book.epoch = openpyxl.utils.datetime.MAC_EPOCH
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    found, _ = read_cells(stream.getvalue())
    mine = []
    for line, row in found:
        cells = list(row)
        while cells[-1] == "":
            cells.pop()
        mine.append((line, cells))
    assert mine == read_rows(stream.getvalue())
