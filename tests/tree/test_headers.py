"""Without these: a public header leans on what was included before it, or a C++ user cannot have it."""

import re

import pytest
from tree import ROOT, compile_only

HEADERS = sorted((ROOT / "include" / "stoker").glob("*.h"))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wundef", "-Wshadow"]
LANGUAGES = {
    "c11": ("gcc", "-xc", "-std=c11", "-Wstrict-prototypes"),
    "c11-clang": ("clang", "-xc", "-std=c11"),
    "c++11": ("g++", "-xc++", "-std=c++11"),
    "c++20": ("g++", "-xc++", "-std=c++20"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_stands_alone(header, language):
    compiler, *options = LANGUAGES[language]
    twice = f"#include <stoker/{header.name}>\n" * 2
    assert compile_only(compiler, twice, *STRICT, *options) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_initialisers_fit_their_types(language):
    names = re.findall(
        r"^#[ ]*define (STK_\w+)_INIT\b", "".join(h.read_text() for h in HEADERS), re.MULTILINE
    )
    assert len(names) >= 4
    lines = [f"{name.lower()} v{i} = {name}_INIT;" for i, name in enumerate(names)]
    uses = [f"(void)v{i};" for i in range(len(names))]
    body = "\n".join(["#include <stoker/stoker.h>", "int main(void) {", *lines, *uses, "}", ""])
    compiler, *options = LANGUAGES[language]
    assert compile_only(compiler, body, *STRICT, *options) == ""


def test_the_whole_has_every_part():
    whole = (ROOT / "include" / "stoker" / "stoker.h").read_text()
    for header in HEADERS:
        if header.name != "stoker.h":
            assert f"<stoker/{header.name}>" in whole
