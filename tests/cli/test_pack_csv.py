"""Without these: a table with quotes, other line ends or a mistake is packed wrongly in silence."""

import pytest


@pytest.fixture
def table(stoker):
    for name in ("a.bin", 'b "2".bin', "c,d.bin", "sub/e.bin"):
        path = stoker.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name.encode())

    def write(text, name="t.csv"):
        (stoker.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


def labels(stoker, where="t.tar"):
    return {s["key"]: s.get("label") for s in stoker.json("ls", "-l", where)["list"]}


def test_quotes_commas_line_ends_and_a_byte_order_mark(stoker, table):
    table(b'\xef\xbb\xbfpath,label\r\na.bin,-3\r\n"b ""2"".bin",4\r\n\r\n"c,d.bin","0005"')
    stoker("pack", "t.csv", "-o", "t.tar")
    assert labels(stoker) == {"a": -3, 'b "2"': 4, "c,d": 5}
    assert stoker("cat", "t.tar", "c,d", "bin").stdout == "c,d.bin"


def test_names_of_classes_are_sorted_and_numbered(stoker, table):
    table('label,path\nzebra,a.bin\nant,sub/e.bin\n7,"c,d.bin"\n')
    stoker("pack", "t.csv", "-o", "t.tar")
    assert labels(stoker) == {"a": 2, "sub/e": 1, "c,d": 0}
    assert (stoker.folder / "classes.txt").read_text() == "7\nant\nzebra\n"


def test_numbers_need_no_names(stoker, table):
    table("path,label\na.bin,12\n")
    stoker("pack", "t.csv", "-o", "t.tar")
    assert not (stoker.folder / "classes.txt").exists()
    stoker("pack", "t.csv", "-o", "n.tar", "--labels", "name")
    assert labels(stoker, "n.tar") == {"a": 0}
    assert (stoker.folder / "classes.txt").read_text() == "12\n"


def test_a_key_of_its_own_lets_one_file_be_two_samples(stoker, table):
    table("path,label,key\na.bin,1,x/one\na.bin,2,x/two\n")
    stoker("pack", "t.csv", "-o", "t.tar")
    assert labels(stoker) == {"x/one": 1, "x/two": 2}


def test_without_labels(stoker, table):
    table("path\na.bin\n")
    stoker("pack", "t.csv", "-o", "t.tar")
    assert stoker("ls", "t.tar").stdout == "a       bin\n"


def test_other_columns_are_told_and_left_out(stoker, table):
    table("path,width,label\na.bin,640,1\n")
    done = stoker("pack", "t.csv", "-o", "t.tar")
    assert done.stderr == (
        "stoker pack: column 'width' of t.csv is left out; path, label and key are taken\n"
    )


def test_paths_begin_at_the_table_or_at_root(stoker, table):
    table("path\ne.bin\n", "sub/t.csv")
    stoker("pack", "sub/t.csv", "-o", "a.tar")
    table("path\ne.bin\n", "t.csv")
    stoker("pack", "t.csv", "-o", "b.tar", "--root", "sub")
    assert (stoker.folder / "a.tar").read_bytes() == (stoker.folder / "b.tar").read_bytes()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "the table is empty (t.csv)"),
        ("file,label\na.bin,1\n", "line 1: no column is named path"),
        ("path,path\na.bin,1\n", "line 1: column path stands there twice (t.csv)"),
        ('path,label\na.bin,"1\n', "line 2: a quote that is never closed (t.csv, byte 17)"),
        ('path,label\n"a.bin"x,1\n', "line 2: text after a closing quote (t.csv, byte 18)"),
        ('path,label\na".bin,1\n', "line 2: a quote inside an unquoted field (t.csv, byte 12)"),
        ("path,label\na.bin\n", "line 2: 1 fields, where the first row has 2 (t.csv, byte 11)"),
        ("path,label\na.bin,1,2\n", "line 2: 3 fields, where the first row has 2"),
        ("path,label\n\n,1\n", "line 3: the path is empty (t.csv, byte 12)"),
        ("path,label\na.bin,\n", "line 2: the label is empty (t.csv, byte 11)"),
        ("path,label\na.bin,1\rb", "a carriage return without a line feed (t.csv, byte 19)"),
        ("path,key\na.bin,x.y\n", "the key is empty, begins or ends with a slash, or has a dot"),
        ("path,label\0\n", "a table has no NUL bytes (t.csv)"),
        ("path,label\na.bin,1\nsub/e.bin,cat\n", "label 'cat' is no number"),
        ("path,label\na.bin,1\na.bin,1\n", "two files are the same field of sample a: a.bin and"),
        ("path,label\ngone.bin,1\n", "No such file or directory, in line 2 of t.csv (gone.bin)"),
        ("path,label\nsub,1\n", "it is no regular file, in line 2 of t.csv (sub)"),
    ],
)
def test_a_mistake_is_named_with_its_line(stoker, table, text, line):
    table(text)
    done = stoker("pack", "t.csv", "-o", "t.tar", code=1)
    assert line in done.stderr
    assert not (stoker.folder / "t.tar").exists()
