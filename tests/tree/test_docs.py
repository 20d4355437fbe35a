"""Without these: a document points at a file that moved, or its example no longer compiles."""

import re

import pytest
from tree import ROOT, compile_only, tracked

DOCUMENTS = tracked("*.md")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    text = CODE.sub("", path.read_text())
    targets = [match[1] for match in LINK.finditer(text) if "://" not in match[1]]
    missing = [target for target in targets if not (path.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(path):
    """`docs/x.md`, `tools/y.py` and the like, in running text."""
    named = re.findall(
        r"`((?:src|include|docs|tools|tests|fuzz|bench|examples|cli|python)/[\w./-]+\.\w+)`",
        path.read_text(),
    )
    stands_for_others = re.compile(r"LAYER|NAME|[/_]X\.")
    real = [name for name in named if not stands_for_others.search(name)]
    assert [name for name in real if not (ROOT / name).exists()] == []


def header_examples():
    """Name and code of each example in the head of a public header."""
    for header in sorted((ROOT / "include" / "stoker").glob("*.h")):
        head = header.read_text().partition("*/")[0]
        _, _, example = head.partition("Example:\n")
        lines = [line[7:] for line in example.splitlines() if line.startswith(" *     ")]
        if lines:
            yield header.name, "\n".join(lines)


def test_there_are_header_examples():
    assert [name for name, _ in header_examples()] != []


@pytest.mark.parametrize(("name", "code"), list(header_examples()), ids=lambda value: value[:20])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_header_examples_compile(name, code, language):
    source = f"""
#include <stoker/{name}>
void train(const stk_tensor *images, const stk_tensor *labels);
void example(void);
void example(void)
{{
    stk_loader *loader = NULL;
    stk_error err = STK_ERROR_INIT;
    stk_status st;
    {code}
    stk_loader_close(loader);
    (void)st;
}}
"""
    compiler = {"c": "gcc", "c++": "g++"}[language]
    assert compile_only(compiler, source, f"-x{language}", "-Wall", "-Wextra", "-Werror") == ""
