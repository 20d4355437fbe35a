"""Brace patterns and what braceexpand 0.1.7 makes of them: tests/golden/braces/expansions.txt.

A line is a pattern and its names, with tabs between; "!" alone stands for unbalanced braces. Made
once, by `python tools/make_braces_golden.py > tests/golden/braces/expansions.txt`; needs the
package braceexpand. Left out are the two places where Stoker departs from it: a backslash before an
ordinary character (it stays here), and a closing brace before its opening one (an error here).
"""

import random

from braceexpand import UnbalancedBracesError, braceexpand

CHOSEN = r"""
s-{008..011}.tar
s-{8..11}.tar?x={a,b}
{z..x}
s-{0..0}.tar
s-{0..9.tar
a{x}{}
{08..11}
{8..011}
{-01..1}
{-1..1}
{1..-1}
{10..1..3}
{1..10..-3}
{1..10..0}
{1..10..03}
{0..-0}
{-0..2}
{00..2}
{a..e..2}
{e..a..2}
{A..c}
{X..b}
{c..A}
{a..c..0}
{x,y,,z}
{,}
{}
{,a}b
a{b,c{d,e}f}g
a{b,c}{d,e}
{{a,b},c}
{a,{1..3},z}
{a,b}{1..2}{x,y}
{a{b}c}
{a{1..2}}
x{y}z{1..2}
{1...3}
{1..2..}
{a..1}
{ab..cd}
{1.5..2}
{+1..2}
{1..2,4}
\{a,b\}
{a\,b,c}
{a,b\}c}
\\{a,b}
a{{,b},c}
{{{a,b}}}
plain.tar

train-{000000..000012}.tar
{a,b
a{b{c,d}
{a..e}{00..01}
{9..11}{,x}
{-5..-3}
{-03..-1}
{01..3..2}
""".strip("\n").split("\n")

PIECES = ["{", "}", ",", "..", "0", "1", "2", "10", "-1", "03", "a", "c", "Z", "x.tar", "-"]


def balanced_so_far(text):
    depth = 0
    for c in text:
        depth += (c == "{") - (c == "}")
        if depth < 0:
            return False
    return True


def main():
    draw = random.Random(39)
    patterns = list(CHOSEN)
    while len(patterns) < 600:
        pattern = "".join(draw.choice(PIECES) for _ in range(draw.randint(2, 14)))
        if balanced_so_far(pattern) and pattern not in patterns:
            patterns.append(pattern)
    for pattern in patterns:
        try:
            names = list(braceexpand(pattern))
        except UnbalancedBracesError:
            names = ["!"]
        if len(names) <= 64:
            print("\t".join([pattern, *names]))


if __name__ == "__main__":
    main()
