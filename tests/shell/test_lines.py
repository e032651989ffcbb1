"""The line of a key, whatever quotes and brackets stand around it."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from headway.shell.lines import line_of, locate

TEXT = '''\
# [no.table]
name = "a [b" # {
command = [
  "x", "[y]",
  "z = 3", # ]
]
text = """
key = 3
[table]
\\""" = """
raw = \'\'\'
[also no table]
\'\'\'
a.b = 3
[parameters]
height = {low = 1, high = 2}
"odd key" = [1,
2]
  [parameters.sub]
  low = 1
[[rows]]
x = 1
[[rows]]
x = 2
'''


def test_every_key_has_its_line():
    tomllib.loads(TEXT)  # what is looked at is TOML
    assert locate(TEXT) == {
        ("name",): 2,
        ("command",): 3,
        ("text",): 7,
        ("raw",): 11,
        ("a",): 14,
        ("a", "b"): 14,
        ("parameters",): 15,
        ("parameters", "height"): 16,
        ("parameters", "odd key"): 17,
        ("parameters", "sub"): 19,
        ("parameters", "sub", "low"): 20,
        ("rows",): 21,
        ("rows", "x"): 22,
    }


def test_what_is_inside_an_inline_table_stands_where_the_table_stands():
    lines = locate(TEXT)
    assert line_of(("parameters", "height", "low"), lines) == 16
    assert line_of(("unheard", "of"), lines) is None


KEYS = st.text("abcdefgh_-", min_size=1, max_size=4)
VALUES = st.sampled_from(["1", '"[x]\\n# = "', "'{['", "[1, [2,\n 3]] # c", '"""\n[t]\nk = 1\n"""'])


@given(st.dictionaries(KEYS, VALUES, min_size=1), st.dictionaries(KEYS, VALUES))
def test_lines_of_any_file(top, inner):
    """Each key is on the line where it was written, and nothing else is found."""
    text, expected = "", {}
    for prefix, table in (((), top), (("T",), inner)):
        if prefix:
            expected["T",] = text.count("\n") + 1
            text += "[T]\n"
        for key, value in table.items():
            expected[*prefix, key] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    tomllib.loads(text)
    assert locate(text) == expected
