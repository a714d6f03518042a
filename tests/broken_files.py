"""Data files that must be refused, and odd ones that must be read right: for readers and the command line.

``broken_files(folder)`` writes more than 250 broken or hostile files and returns them with what is wrong;
``valid_files(folder)`` writes tricky but valid ones and returns them with what a reader must find.
"""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.broken_structures import FAMILIES, valid_structures

Case = tuple[str, bytes, str]  # name of the file, content, what is wrong with it

CSV = "age,city,dose\n31,Rome,0.5\n42,Oslo,1.5\n53,Rome,2.5\n64,Bonn,3.5\n75,Oslo,4.5\n"
TSV = CSV.replace(",", "\t")
SVMLIGHT = "1 1:0.5 3:2\n-1 2:1e-3\n1 1:4 2:5 # comment\n"
JSONL = '{"text": "GATTACA", "label": "a", "x": 1.5}\n{"text": "TAGA", "label": "b", "x": 2}\n'
FASTA = ">s1 class=a\nGATTACA\nGATT\n>s2 class=b\nTAGACAT\n"
FASTQ = "@r1\nGATTACA\n+\nIIIIIII\n@r2\nTAGA\n+r2\n!~II\n"
TEXTS = {"csv": CSV, "tsv": TSV, "svmlight": SVMLIGHT, "jsonl": JSONL, "fasta": FASTA, "fastq": FASTQ}


# ---------------------------------------------------------------------- any text


def _texts() -> Iterator[Case]:
    for kind, text in TEXTS.items():
        data = text.encode()
        half = len(data) // 2
        packed = gzip.compress(data, mtime=0)
        yield f"empty.{kind}", b"", "empty"
        yield f"blank.{kind}", b"\n\n \n", "only blank lines"
        yield f"nul.{kind}", data[:half] + b"\0" + data[half:], "NUL byte"
        yield f"nul_first.{kind}", b"\0" + data, "NUL byte at the beginning"
        yield f"latin1.{kind}", data[:half] + "é".encode("latin-1") + data[half:], "Latin-1"
        yield f"cut_character.{kind}", data + "é".encode()[:1], "half of a UTF-8 character at the end"
        yield f"overlong.{kind}", data[:half] + b"\xc0\xaf" + data[half:], "overlong UTF-8"
        yield f"surrogate.{kind}", data[:half] + b"\xed\xa0\x80" + data[half:], "surrogate in UTF-8"
        for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
            yield f"{encoding}.{kind}", text.encode(encoding), encoding
        yield f"cut.{kind}.gz", packed[:-9], "gzip cut off"
        yield f"damaged.{kind}.gz", packed[:-6] + b"\xff\xff\xff\xff\xff\xff", "gzip check sum"
        yield f"garbage.{kind}.gz", packed + b"garbage", "garbage after gzip"
        yield f"twice.{kind}.gz", gzip.compress(packed, mtime=0), "compressed twice"
        yield f"nothing.{kind}.gz", gzip.compress(b"", mtime=0), "empty after decompression"
        yield f"bomb.{kind}.gz", gzip.compress(data + b"\n" * 4_000_000, mtime=0), "decompression bomb"


# ---------------------------------------------------------------------- delimited


def _delimited() -> Iterator[Case]:
    for mark, name in ((",", "comma.csv"), ("\t", "tab.tsv"), (";", "semicolon.csv")):
        for label, text, reason in _tables(mark):
            yield f"{label}_{name}", text.encode(), reason
    yield "bars.csv", b"a|b\n1|2\n3|4\n", "bars between fields"
    yield "blanks.csv", b"1.5 2.5\n3.5 4.5\n", "blanks between fields"
    yield "commented.csv", b"# made by hand\na,b\n1,2\n", "comment line"
    yield "comment_later.csv", b"a,b\n1,2\n# half time\n3,4\n", "comment line in the middle"
    yield "index.csv", b",a,b\n0,1,2\n1,3,4\n", "index without a name"
    yield "two_tables.csv", b"a,b\n1,2\n\nc,d,e\n1,2,3\n", "two tables in one file"
    yield "long_line.csv", b"a,b\n1,2\n" + b"," * 200_000 + b"\n", "200 000 delimiters"
    yield "open_quote_long.csv", b'a,b\n1,"' + b"x,y\n" * 300_000, "quote open over a megabyte"
    yield "tabs.tsv", b"a\tb\n1\t2\n3\t4\t\n", "tab at the end of a row"
    yield "spaces_for_tabs.tsv", b"a\tb\n1\t2\n3    4\n", "blanks instead of a tab"


def _tables(mark: str) -> Iterator[tuple[str, str, str]]:
    def table(*rows: str) -> str:
        return "\n".join(row.replace("|", mark) for row in rows) + "\n"

    good = ("a|b|c", "1.5|x|3", "2.5|y|4", "3.5|x|5", "4.5|y|6", "5.5|x|7")
    yield "short", table(*good, "6.5|x"), "row too short"
    yield "long", table(*good, "6.5|x|8|9"), "row too long"
    yield "short_first", table(good[0], "1.5|x", *good[1:]), "first row too short"
    yield "twin", table("a|b|a", *good[1:]), "name twice"
    yield "twin_blank", table("a|b| a ", *good[1:]), "name twice, once with blanks"
    yield "nameless", table("a||c", *good[1:]), "empty name"
    yield "nameless_blank", table("a|  |c", *good[1:]), "blank name"
    yield "nameless_last", table("a|b|", *good[1:]), "delimiter at the end of the header"
    yield "header_only", table(good[0]), "no row"
    yield "header_only_cut", table(good[0])[:-1], "no row, no end of line"
    yield "open_quote", table(*good, '6.5|"x|8'), "quote not closed"
    yield "open_quote_header", table('a|"b|c', *good[1:]), "quote not closed in the header"
    yield "after_quote", table(*good, '6.5|"x"y|8'), "text after a quote"
    for number, word in enumerate(("1e400", "-1e400", "9" * 400, "inf", "-inf", "Infinity", "+INF")):
        yield f"infinite{number}", table(*good, f"{word}|x|8"), f"{word[:9]} in a column of numbers"
    words = ("oops", "1.5.2", "0x10", "1_000", "--5", "1e", "12 kg", "$3", "5%", "\u0661", "3/4", "1 2")
    for number, word in enumerate(words):
        yield f"spoiled{number}", table(*good, f"{word}|x|8"), f"{word} in a column of numbers"
    yield "thousands", table(*good, "1'234|x|8"), "separators of thousands"
    if mark != ",":
        yield "decimal_comma", table("a|b", "1,5|2", "2,5|3"), "decimal commas"
        yield "decimal_commas", table("a|b", "1,5|2,25", "2,5|3,75"), "decimal commas everywhere"
        yield "thousands_comma", table("a|b", "1,234,567|2", "5|3"), "commas between thousands"
    yield "wide", mark.join(f"c{j}" for j in range(100_001)) + "\n", "100 001 columns"
    yield "long_field", table("a|b", "x|1", "x" * 1_000_001 + "|2"), "field of more than a megabyte"


# ---------------------------------------------------------------------- svmlight

_LINES = {
    "no_label": "1:2 3:4",
    "label_word": "yes 1:2",
    "label_nan": "nan 1:2",
    "label_inf": "inf 1:2",
    "label_huge": "1e400 1:2",
    "labels": "1,2 1:2",
    "label_hex": "0x1 1:2",
    "index_negative": "1 -1:2",
    "index_plus": "1 +1:2",
    "index_huge": "1 2147483647:1",
    "index_digits": "1 " + "9" * 5000 + ":1",
    "index_real": "1 1.5:2",
    "index_word": "1 a:2",
    "index_absent": "1 :2",
    "index_unicode": "1 \u0661:2",
    "index_twice": "1 1:2 1:3",
    "index_descending": "1 5:2 3:4",
    "index_zero_twice": "1 0:1 0:2",
    "no_colon": "1 1:2 3",
    "no_value": "1 1:",
    "value_nan": "1 1:nan",
    "value_inf": "1 1:inf",
    "value_huge": "1 1:1e400",
    "value_word": "1 1:abc",
    "value_hex": "1 1:0x10",
    "value_underscore": "1 1:1_0",
    "value_comma": "1 1:0,5",
    "colon_twice": "1 1::2",
    "colon_blank": "1 1: 2",
    "blank_colon": "1 1 :2",
    "qid_some": "1 qid:3 1:2",
    "qid_word": "1 qid:a 1:2",
    "qid_late": "1 1:2 qid:3",
    "comma_pairs": "1 1:2,3:4",
    "semicolons": "1;1:2;3:4",
}


def _svmlight() -> Iterator[Case]:
    for name, line in _LINES.items():
        yield f"{name}.svm", (SVMLIGHT + line + "\n" + SVMLIGHT).encode(), f"svmlight: {name}"
    yield "qid_huge.svm", b"1 qid:" + b"9" * 30 + b" 1:1\n", "svmlight: qid too large"
    yield "comments.svm", b"# nothing\n# at all\n", "svmlight: only comments"
    yield "is_csv.svm", CSV.encode(), "CSV named svmlight"
    yield "is_fasta.libsvm", FASTA.encode(), "FASTA named svmlight"


# ---------------------------------------------------------------------- JSON lines

_OBJECTS = {
    "words": "not json",
    "single_quotes": "{'text': 'GAT', 'label': 'a', 'x': 1}",
    "list": '["GAT", "a", 1]',
    "string": '"GAT"',
    "number": "5",
    "null": "null",
    "true": "true",
    "two": '{"text": "G", "label": "a", "x": 1} {"text": "G", "label": "a", "x": 1}',
    "comma_after": '{"text": "G", "label": "a", "x": 1},',
    "comma_inside": '{"text": "G", "label": "a", "x": 1,}',
    "cut": '{"text": "G", "label": "a"',
    "cut_text": '{"text": "G',
    "comment": '// {"text": "G"}',
    "nested_list": '{"text": ["G"], "label": "a", "x": 1}',
    "nested_object": '{"text": {"a": 1}, "label": "a", "x": 1}',
    "key_absent": '{"text": "G", "label": "a"}',
    "key_surplus": '{"text": "G", "label": "a", "x": 1, "z": 2}',
    "key_twice": '{"text": "G", "label": "a", "x": 1, "x": 2}',
    "key_other": '{"text": "G", "Label": "a", "x": 1}',
    "empty_object": "{}",
    "nan": '{"text": "G", "label": "a", "x": NaN}',
    "infinity": '{"text": "G", "label": "a", "x": -Infinity}',
    "huge": '{"text": "G", "label": "a", "x": 1e400}',
    "huge_integer": '{"text": "G", "label": "a", "x": ' + "9" * 5000 + "}",
    "text_for_number": '{"text": "G", "label": "a", "x": "1"}',
    "number_for_text": '{"text": 5, "label": "a", "x": 1}',
    "truth_for_number": '{"text": "G", "label": "a", "x": true}',
    "leading_zero": '{"text": "G", "label": "a", "x": 01}',
    "control": '{"text": "G\tA", "label": "a", "x": 1}',
    "escape": '{"text": "\\q", "label": "a", "x": 1}',
    "surrogate": '{"text": "\\ud800", "label": "a", "x": 1}',
    "deep_list": '{"text": ' + "[" * 101 + "]" * 101 + ', "label": "a", "x": 1}',
    "very_deep": "[" * 100_000,
    "very_deep_objects": '{"a":' * 100_000,
}


def _jsonl() -> Iterator[Case]:
    for name, line in _OBJECTS.items():
        yield f"{name}.jsonl", (JSONL + line + "\n" + JSONL).encode(), f"JSON lines: {name}"
    yield "pretty.jsonl", json.dumps({"a": 1, "b": 2}, indent=2).encode(), "object over several lines"
    yield "array.jsonl", b'[{"a": 1}, {"a": 2}]', "one list named JSON lines"
    yield "array.json", b'[{"a": 1}, {"a": 2}]', "one JSON list"
    yield "pretty_array.json", b'[\n  {"a": 1},\n  {"a": 2}\n]\n', "one JSON list over several lines"
    yield "key_empty.jsonl", b'{"": 1}\n', "empty key"
    yield "first_empty.jsonl", b"{}\n{}\n", "only empty objects"
    yield "long_line.jsonl", b'{"a": "' + b"x" * (16 * 2**20) + b'"}\n', "line of more than 16 megabytes"


# ---------------------------------------------------------------------- FASTA and FASTQ


def _sequences() -> Iterator[Case]:
    yield "before.fasta", b"GATTACA\n>s1\nGAT\n", "letters before the first header"
    yield "nameless.fasta", b">\nGAT\n", "header without a name"
    yield "nameless_blank.fasta", b">  \nGAT\n", "header of blanks"
    yield "no_letters.fasta", b">s1\n>s2\nGAT\n", "empty sequence"
    yield "no_letters_last.fasta", b">s1\nGAT\n>s2\n", "empty last sequence"
    yield "no_letters_blank.fasta", b">s1\n\n\n>s2\nGAT\n", "sequence of blank lines"
    yield "twin.fasta", b">s1\nGAT\n>s2\nTAG\n>s1 again\nGAT\n", "name twice"
    for number, letter in enumerate("5 .@!_#/\u00e9\u0410,;"):
        yield f"letter{number}.fasta", f">s1\nGAT\n>s2\nGA{letter}T\n".encode(), f"{letter!r} in a sequence"
    yield "is_fastq.fasta", FASTQ.encode(), "FASTQ named FASTA"
    yield "is_csv.fasta", CSV.encode(), "CSV named FASTA"
    yield "comment.fasta", b"; comment\n>s1\nGAT\n", "comment before the first header"
    record = "@r1\nGATT\n+\nIIII\n"
    yield "cut2.fastq", (record + "@r2\nGATT\n").encode(), "record of two lines"
    yield "cut3.fastq", (record + "@r2\nGATT\n+\n").encode(), "record of three lines"
    yield "short.fastq", (record + "@r2\nGATT\n+\nIII\n").encode(), "qualities too few"
    yield "long.fastq", (record + "@r2\nGATT\n+\nIIIII\n").encode(), "qualities too many"
    yield "quality.fastq", (record + "@r2\nGATT\n+\nII\u00e9I\n").encode(), "quality beyond ~"
    yield "no_plus.fastq", (record + "@r2\nGATT\n-\nIIII\n").encode(), "no plus"
    yield "other_plus.fastq", (record + "@r2\nGATT\n+r1\nIIII\n").encode(), "plus with another name"
    yield "no_at.fastq", (record + "r2\nGATT\n+\nIIII\n").encode(), "header without @"
    yield "twin.fastq", (record + record).encode(), "name twice"
    yield "nameless.fastq", b"@\nGATT\n+\nIIII\n", "header without a name"
    yield "empty_sequence.fastq", b"@r1\n\n+\n\n", "empty sequence"
    yield "letter.fastq", b"@r1\nGA5T\n+\nIIII\n", "digit in a sequence"
    yield "lines.fastq", b"@r1\nGATT\nGATT\n+\nIIII\nIIII\n", "sequence over two lines"
    yield "is_fasta.fastq", FASTA.encode(), "FASTA named FASTQ"


# ---------------------------------------------------------------------- Gram matrices


def npy(array: np.ndarray, **kwargs: object) -> bytes:
    """Return the bytes that ``numpy.save`` writes."""
    stream = io.BytesIO()
    np.save(stream, array, **kwargs)
    return stream.getvalue()


def npy_header(header: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return a file with a header written by hand."""
    text = header.encode("latin-1").ljust(118 if len(header) < 118 else len(header)) + b"\n"
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + length + text + body


def _gram() -> Iterator[Case]:
    K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    for name, value in (("nan", np.nan), ("inf", np.inf), ("minus_inf", -np.inf)):
        bad = K.copy()
        bad[1, 2] = bad[2, 1] = value
        yield f"{name}.npy", npy(bad), f"{name} in the matrix"
        yield f"{name}_single.npy", npy(bad.astype(np.float32)), f"{name} in a float32 matrix"
    yield "asymmetric.npy", npy(K + np.triu(K, 1)), "not symmetric"
    yield "asymmetric_integers.npy", npy(np.arange(9).reshape(3, 3)), "integers, not symmetric"
    yield "antisymmetric.npy", npy(np.array([[0.0, 1.0], [-1.0, 0.0]])), "antisymmetric"
    yield "rectangular.npy", npy(K[:2]), "not square"
    yield "tall.npy", npy(K[:, :2]), "not square"
    yield "vector.npy", npy(K[0]), "a vector"
    yield "scalar.npy", npy(np.float64(3.0)), "a number"
    yield "cube.npy", npy(np.zeros((2, 2, 2))), "three dimensions"
    yield "nothing.npy", npy(np.zeros((0, 0))), "no sample"
    yield "no_columns.npy", npy(np.zeros((3, 0))), "no column"
    yield "objects.npy", npy(np.array([[None, 1], [1, None]], dtype=object), allow_pickle=True), "a pickle"
    yield "words.npy", npy(np.array([["a", "b"], ["b", "a"]])), "texts"
    yield "complex.npy", npy(K.astype(complex)), "complex numbers"
    yield "truth.npy", npy(K > 1), "truth values"
    yield "dates.npy", npy(np.zeros((2, 2), dtype="M8[s]")), "dates"
    yield "records.npy", npy(np.zeros((2, 2), dtype=[("a", "f8")])), "records"
    whole = npy(K)
    for cut in (6, 8, 9, 10, 60, 127, 128, 129, len(whole) - 1):
        yield f"cut{cut}.npy", whole[:cut], f"only {cut} bytes"
    yield "surplus.npy", whole + b"\0", "a byte too many"
    yield "no_magic.npy", b"\x93NUMPX" + whole[6:], "another magic"
    yield "version.npy", whole[:6] + b"\x09\x00" + whole[8:], "version 9"
    yield "header_length.npy", whole[:8] + b"\xff\xff" + whole[10:], "header length too large"
    yield "compressed.npy.gz", gzip.compress(whole, mtime=0), "compressed"
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }"
    claims = ("100000, 100000", "-3, -3", "3, 3, 3", "3", "999999999999999999999, 1", "3.0, 3", "__import__('os')")
    for number, claim in enumerate(claims):
        yield f"claim{number}.npy", npy_header(shape % claim, K.tobytes()), f"shape ({claim})"
    headers = ("", "{}", "(" * 9000, "{'descr': '|O', 'fortran_order': False, 'shape': (3, 3), }", "\xff" * 100)
    for number, header in enumerate(headers):
        yield f"header{number}.npy", npy_header(header, K.tobytes()), "header of another kind"
    yield "header_v3.npy", npy_header("{}", K.tobytes(), b"\x03\x00"), "empty header of version 3"


def _named_gram(folder: Path) -> Iterator[tuple[Path, str]]:
    names = {
        "few": b"a\nb\n",
        "many": b"a\nb\nc\nd\n",
        "twin": b"a\nb\na\n",
        "blank": b"a\n\nc\n",
        "empty": b"",
        "latin1": "a\né\nc\n".encode("latin-1"),
        "nul": b"a\nb\0\nc\n",
    }
    for suffix in (".ids", ".ids.txt", ".txt"):
        for name, content in names.items():
            path = folder / f"ids_{name}{suffix.replace('.', '_')}.npy"
            path.write_bytes(npy(np.eye(3)))
            path.with_suffix(suffix).write_bytes(content)
            yield path, f"names of samples: {name}"


# ---------------------------------------------------------------------- Parquet


def parquet(table: pa.Table, **kwargs: object) -> bytes:
    """Return the bytes of a Parquet file."""
    stream = io.BytesIO()
    pq.write_table(table, stream, **kwargs)
    return stream.getvalue()


def _parquet() -> Iterator[Case]:
    table = pa.table({"x": np.arange(1000) / 7, "city": ["Rome", "Oslo"] * 500})
    whole = parquet(table)
    size = len(whole)
    for cut in (4, 8, 11, 12, size // 2, size - 5, size - 1):
        yield f"cut{cut}.parquet", whole[:cut], f"only {cut} bytes"
    yield "no_head.parquet", b"XXXX" + whole[4:], "no magic at the beginning"
    yield "no_tail.parquet", whole[:-4] + b"XXXX", "no magic at the end"
    yield "encrypted.parquet", whole[:-4] + b"PARE", "encrypted"
    for number, length in enumerate((0, 1, size - 12, size, 2**31 - 1, 2**32 - 1)):
        yield f"footer{number}.parquet", whole[:-8] + struct.pack("<I", length) + b"PAR1", f"footer of {length} bytes"
    footer = int.from_bytes(whole[-8:-4], "little")
    start = size - 8 - footer
    yield "footer_zeros.parquet", whole[:start] + bytes(footer) + whole[-8:], "footer of zeros"
    yield "footer_ones.parquet", whole[:start] + b"\xff" * footer + whole[-8:], "footer of ones"
    yield "pages_zeros.parquet", whole[:4] + bytes(start - 4) + whole[start:], "pages of zeros"
    yield "pages_ones.parquet", whole[:4] + b"\xff" * (start - 4) + whole[start:], "pages of ones"
    yield "compressed.parquet.gz", gzip.compress(whole, mtime=0), "compressed once more"
    yield "is_csv.parquet", CSV.encode(), "CSV named Parquet"
    columns = {
        "list": pa.array([[1], [2, 3]]),
        "record": pa.array([{"a": 1}, {"a": 2}]),
        "bytes": pa.array([b"a", b"b"]),
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        "duration": pa.array([1, 2], pa.duration("s")),
        "inf": pa.array([1.0, np.inf]),
        "minus_inf": pa.array([-np.inf, 1.0], pa.float32()),
    }
    for name, column in columns.items():
        yield f"{name}.parquet", parquet(pa.table({"good": [1, 2], "bad": column})), f"Parquet column: {name}"
    pair = [pa.array([1, 2]), pa.array([3, 4])]
    yield "twin.parquet", parquet(pa.Table.from_arrays(pair, names=["a", "a"])), "name twice"
    yield "nameless.parquet", parquet(pa.Table.from_arrays(pair, names=["a", " "])), "blank name"
    yield "no_rows.parquet", parquet(table[:0]), "no row"
    yield "no_columns.parquet", parquet(pa.table({})), "no column"
    many = pa.table({"x": pa.array(np.zeros(10**7, dtype=np.int8))})
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, many.schema) as writer:
        for _ in range(11):
            writer.write_table(many)
    yield "bomb.parquet", stream.getvalue(), "110 million rows in some kilobytes"


# ---------------------------------------------------------------------- none of our formats


def _strangers() -> Iterator[Case]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    npz = io.BytesIO()
    np.savez(npz, K=np.eye(2))
    contents = {
        "spreadsheet": archive.getvalue(),
        "npz": npz.getvalue(),
        "old_spreadsheet": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        "pickle2": b"\x80\x02]q\x00.",
        "pickle4": b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00N.",
        "pickle5": b"\x80\x05N.",
        "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(100),
        "arrow": b"ARROW1\0\0" + bytes(100),
        "bzip2": b"BZh91AY&SY" + bytes(20),
        "xz": b"\xfd7zXZ\0" + bytes(20),
        "zstd": b"\x28\xb5\x2f\xfd" + bytes(20),
        "pdf": b"%PDF-1.7\n",
        "sqlite": b"SQLite format 3\0" + bytes(100),
        "page": b"<!DOCTYPE html><html><body>Not found, sorry</body></html>",
        "xml": b"<?xml version='1.0'?><graphml/>",
        "png": b"\x89PNG\r\n\x1a\n" + bytes(50),
        "noise": np.random.default_rng(0).bytes(5000),
        "zeros": bytes(5000),
    }
    for name, content in contents.items():
        for extension in (".csv", ".dat", ""):
            yield f"{name}{extension}", content, f"{name} file"
    yield "prose.dat", b"Call me Ishmael. Some years ago\nnever mind how long\n", "prose"
    yield "word", b"hello", "one word"
    yield "blanks.dat", b"  \n\n", "only blanks, no extension"


# ---------------------------------------------------------------------- all of them


def broken_files(folder: Path) -> list[tuple[Path, str]]:
    """Write files that must be refused, and return them with what is wrong with each."""
    families = (_texts, _delimited, _svmlight, _jsonl, _sequences, _gram, _parquet, _strangers, *FAMILIES)
    found = []
    for family in families:
        home = folder / family.__name__.lstrip("_")
        home.mkdir()
        for name, content, reason in family():
            path = home / name
            assert not path.exists(), path
            path.write_bytes(content)
            found.append((path, reason))
    home = folder / "names"
    home.mkdir()
    return found + list(_named_gram(home))


def valid_files(folder: Path) -> list[tuple[Path, dict]]:
    """Write tricky but valid files, and return them with the data that a reader must find.

    What must be found: ``X`` (columns as lists with None for missing values, rows of sparse vectors or of a
    Gram matrix, sequences), and optionally ``kinds``, ``y``, ``ids``.
    """
    found = []
    for name, (content, expected) in {**_valid_tables(), **_valid_others(), **valid_structures()}.items():
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        found.append((path, expected))
    path = folder / "named.npy"
    path.write_bytes(npy(np.eye(2)))
    path.with_suffix(".ids").write_text("a b\r\nü\r\n", encoding="utf-8", newline="")
    found.append((path, {"X": [[1.0, 0.0], [0.0, 1.0]], "ids": ("a b", "ü")}))
    return found


def _valid_tables() -> dict[str, tuple[str | bytes, dict]]:
    plain = {"a": [1.0, 2.0], "b": ["x", "y"]}
    return {
        "bom.csv": ("\ufeffa,b\n1,x\n2,y\n", {"X": plain}),
        "bom_quoted.csv": ('\ufeff"a",b\n1,x\n2,y\n', {"X": plain}),
        "crlf.csv": ("a,b\r\n1,x\r\n2,y\r\n", {"X": plain}),
        "cr.csv": ("a,b\r1,x\r2,y\r", {"X": plain}),
        "no_end.csv": ("a,b\n1,x\n2,y", {"X": plain}),
        "blank_lines.csv": ("\n\na,b\n\n1,x\n   \n2,y\n\n\n", {"X": plain}),
        "blanks_around.csv": (" a , b\n 1 , x\n 2 , y\n", {"X": {"a": [1.0, 2.0], "b": ["x", "y"]}}),
        "semicolon.csv": ("a;b\n1;x\n2;y\n", {"X": plain}),
        "tab.csv": ("a\tb\n1\tx\n2\ty\n", {"X": plain}),
        "capital.CSV": ("a,b\n1,x\n2,y\n", {"X": plain}),
        "sniffed.data": ("a,b\n1,x\n2,y\n", {"X": plain}),
        "bare_name": ("a,b\n1,x\n2,y\n", {"X": plain}),
        "packed.csv.gz": (gzip.compress(b"a,b\n1,x\n2,y\n"), {"X": plain}),
        "packed_unsaid.csv": (gzip.compress(b"a,b\n1,x\n2,y\n"), {"X": plain}),
        "members.csv.gz": (gzip.compress(b"a,b\n1,x\n") + gzip.compress(b"2,y\n"), {"X": plain}),
        "repetitive.csv.gz": (gzip.compress(b"a,b\n" + b"1,x\n" * 9999 + b"2,y\n"), {"n": 10_000}),
        "quoted.csv": (
            'a,b\n1,"x, ""y""\nz"\n2,";\t"\n',
            {"X": {"a": [1.0, 2.0], "b": ['x, "y"\nz', ";\t"]}},
        ),
        "quote_inside.csv": ('a,b\n1,5" disk\n2,y\n', {"X": {"a": [1.0, 2.0], "b": ['5" disk', "y"]}}),
        "numbers.csv": (
            "a\n1\n-2.\n+.5\n1e3\n1E-400\n1.7976931348623157e308\n-0\n5e-324\n",
            {"X": {"a": [1.0, -2.0, 0.5, 1000.0, 0.0, 1.7976931348623157e308, -0.0, 5e-324]}},
        ),
        "missing.csv": (
            "a,b,c\n1,x,p\n,,q\nNA,x,\nnan,y,r\n?,NA,NA\n2,y,s\n",
            {
                "X": {
                    "a": [1.0, None, None, None, None, 2.0],
                    "b": ["x", None, "x", "y", None, "y"],
                    "c": ["p", "q", None, "r", "NA", "s"],
                },
                "kinds": {"a": "number", "b": "category", "c": "text"},
            },
        ),
        "no_header.csv": ("1,x\n2,y\n", {"X": {"column1": [1.0, 2.0], "column2": ["x", "y"]}}),
        "years.csv": ("a,2019\n1,5\n2,6\n", {"X": {"a": [1.0, 2.0], "2019": [5.0, 6.0]}}),
        "one_column.csv": ("a\n1\n2\n", {"X": {"a": [1.0, 2.0]}}),
        "one_row.csv": ("a,b\n1,x\n", {"X": {"a": [1.0], "b": ["x"]}, "kinds": {"a": "constant", "b": "constant"}}),
        "one_number.csv": ("7", {"X": {"column1": [7.0]}}),
        "empty_column.csv": ("a,b\n1,\n2,\n", {"X": {"a": [1.0, 2.0], "b": [None, None]}}),
        "codes.csv": (
            "a\n1\n2\nA\n1\n2\nA\n",
            {"X": {"a": ["1", "2", "A", "1", "2", "A"]}, "kinds": {"a": "category"}},
        ),
        "hashes.csv": ("a\n1e400\nbeef\n2e500\n", {"X": {"a": ["1e400", "beef", "2e500"]}}),
        "truth.csv": (
            "a,b\nyes,T\nNo,f\n,t\n",
            {"X": {"a": [1.0, 0.0, None], "b": [1.0, 0.0, 1.0]}, "kinds": {"a": "boolean", "b": "boolean"}},
        ),
        "ids.csv": (
            "sample_id,a\n007,1\n008,2\n",
            {"X": {"sample_id": ["007", "008"], "a": [1.0, 2.0]}, "ids": ("007", "008")},
        ),
        "unicode.csv": (
            "größe,名前\n1,é\n2,e\u0301\n3,🧬\n",
            {"X": {"größe": [1.0, 2.0, 3.0], "名前": ["é", "e\u0301", "🧬"]}},
        ),
        "odd_lines.csv": ("a,b\n1,x\u2028y\n2,z\x0bw\n", {"X": {"a": [1.0, 2.0], "b": ["x\u2028y", "z\x0bw"]}}),
        "formula.csv": ("a,b\n1,=1+1\n2,@x\n", {"X": {"a": [1.0, 2.0], "b": ["=1+1", "@x"]}}),
        "markup.csv": ("<b>a,b\n1,<script>\n2,y\n", {"X": {"<b>a": [1.0, 2.0], "b": ["<script>", "y"]}}),
        "par1.csv": ("PAR1,b\n1,2\n3,4\n", {"X": {"PAR1": [1.0, 3.0], "b": [2.0, 4.0]}}),
        "long_text.csv": (f"a\n{'x' * 1_000_000}\ny\n", {"X": {"a": ["x" * 1_000_000, "y"]}}),
        "table.tsv": ("a\tb\n1\tx, y\n2\tz; w\n", {"X": {"a": [1.0, 2.0], "b": ["x, y", "z; w"]}}),
        "commas_in_text.csv": ("a;b\n1;x, y\n2;z\n", {"X": {"a": [1.0, 2.0], "b": ["x, y", "z"]}}),
        "lines.jsonl": (
            '{"a": 1, "b": "x", "c": true}\n\n{"c": false, "b": null, "a": -1e-3}\r\n  {"a":null,"b":"1","c":null}',
            {"X": {"a": [1.0, -0.001, None], "b": ["x", None, "1"], "c": [1.0, 0.0, None]}},
        ),
        "sniffed_lines": ('\ufeff{"a": 1}\n{"a": 2}\n', {"X": {"a": [1.0, 2.0]}}),
        "escapes.ndjson": (
            '{"a": "\\u00e9\\n\\ud83e\\uddec[[{{"}\n{"a": "\\""}\n',
            {"X": {"a": ["é\n🧬[[{{", '"']}},
        ),
        "brackets.jsonl": ('{"a": "' + "[" * 500 + '"}\n{"a": "x"}\n', {"X": {"a": ["[" * 500, "x"]}}),
        "table.parquet": (
            parquet(pa.table({"a": pa.array([1, None]), "b": ["x", None], "c": [True, False], "d": [1.5, np.nan]})),
            {"X": {"a": [1.0, None], "b": ["x", None], "c": [1.0, 0.0], "d": [1.5, None]}},
        ),
        "types.parquet": (
            parquet(
                pa.table(
                    {
                        "date": pa.array([0, 366], pa.date32()),
                        "price": pa.array([1, 2]).cast(pa.decimal128(30, 2)),
                        "code": pa.array(["x", "y"]).dictionary_encode(),
                        "small": pa.array([1.5, 2.5], pa.float32()),
                        "none": pa.nulls(2),
                        "large": pa.array(["p", "q"], pa.large_string()),
                        "unsigned": pa.array([0, 2**64 - 1], pa.uint64()),
                    }
                )
            ),
            {
                "X": {
                    "date": ["1970-01-01", "1971-01-02"],
                    "price": [1.0, 2.0],
                    "code": ["x", "y"],
                    "small": [1.5, 2.5],
                    "none": [None, None],
                    "large": ["p", "q"],
                    "unsigned": [0.0, float(2**64 - 1)],
                }
            },
        ),
        "unsaid.csv.bin": (parquet(pa.table({"a": [1, 2]})), {"X": {"a": [1.0, 2.0]}}),
        "groups.parquet": (
            parquet(pa.table({"a": np.arange(100), "b": ["x", "y"] * 50}), row_group_size=7),
            {"X": {"a": [float(i) for i in range(100)], "b": ["x", "y"] * 50}},
        ),
    }


def _valid_others() -> dict[str, tuple[str | bytes, dict]]:
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    return {
        "plain.svm": (SVMLIGHT, {"X": [[0.5, 0, 2], [0, 1e-3, 0], [4, 5, 0]], "y": [1.0, -1.0, 1.0]}),
        "sniffed_pairs.txt": ("# c\n+1 1:1 \n\n 2.5e0\t2:3\r\n", {"X": [[1, 0], [0, 3]], "y": [1.0, 2.5]}),
        "zero.svm": ("1 0:5 1:6\n2 1:7\n", {"X": [[5, 6], [0, 7]], "y": [1.0, 2.0]}),
        "queries.svm": ("1 qid:3 1:1\n0 qid:4 2:1\n", {"X": [[1, 0], [0, 1]], "y": [1.0, 0.0]}),
        "zeros.svm": ("1\n0 2:1\n", {"X": [[0, 0], [0, 1]], "y": [1.0, 0.0]}),
        "stored_zero.svm": ("1 1:0 2:-0.0\n", {"X": [[0, 0]], "y": [1.0]}),
        "leading.svm": ("1 001:2 0002:3\n", {"X": [[2, 3]], "y": [1.0]}),
        "gram.npy": (npy(K), {"X": K.tolist()}),
        "single.npy": (npy(K.astype(np.float32)), {"X": K.tolist()}),
        "integers.npy": (npy(K.astype(np.int64)), {"X": K.tolist()}),
        "fortran.npy": (npy(np.asfortranarray(K)), {"X": K.tolist()}),
        "big_endian.npy": (npy(K.astype(">f8")), {"X": K.tolist()}),
        "one.npy": (npy(np.ones((1, 1))), {"X": [[1.0]]}),
        "rounded.npy": (npy(K + np.array([[0, 1e-12], [0, 0]])), {"n": 2}),
        "indefinite.npy": (npy(-K), {"X": (-K).tolist()}),
        "unsaid.bin": (npy(K), {"X": K.tolist()}),
        "plain.fasta": (FASTA, {"X": ["GATTACAGATT", "TAGACAT"], "ids": ("s1", "s2")}),
        "odd.fa": ("\r\n>s1|x y=1\r\nGA-T*\r\n\r\n ttag \r\n>s2\nA", {"X": ["GA-T*ttag", "A"], "ids": ("s1|x", "s2")}),
        "sniffed_records": (">s1\nGAT\n", {"X": ["GAT"], "ids": ("s1",)}),
        "packed.fna.gz": (gzip.compress(FASTA.encode()), {"X": ["GATTACAGATT", "TAGACAT"]}),
        "plain.fastq": (FASTQ, {"X": ["GATTACA", "TAGA"], "ids": ("r1", "r2")}),
        "at.fq": ("@r1\nGAT\n+\n@@@\n@r2\nTAG\n+\n+>I\n\n", {"X": ["GAT", "TAG"], "ids": ("r1", "r2")}),
        "sniffed_reads": (FASTQ, {"X": ["GATTACA", "TAGA"]}),
    }
