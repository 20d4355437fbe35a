"""Without these: the command draws bars into logs, hides a failed write, or its manual is wrong."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

COMMANDS = ["pack", "ls", "cat", "verify", "index", "bench", "plan", "doctor", "version", "help"]


def test_help_lists_the_commands(stoker):
    text = stoker("help").stdout
    assert re.findall(r"^  (\w+) +\w", text.partition("Exit status")[0], re.M) == COMMANDS
    assert stoker("--help").stdout == text
    done = stoker(code=2)
    assert done.stdout == text


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_manual(stoker, name):
    text = stoker("help", name).stdout
    assert stoker(name, "--help").stdout == text
    assert text.startswith("usage: stoker ")
    assert all(len(line) <= 90 for line in text.splitlines())
    if name not in ("version", "help"):
        assert "\nExamples:\n  " in text


@pytest.mark.parametrize("name", COMMANDS[:-1])
def test_options_of_the_usage_line_exist(stoker, name):
    usage, _, rest = stoker("help", name).stdout.partition("\n\n")
    for option in re.findall(r"--[\w-]+", usage):
        assert re.search(rf"^ +(-\w, )?{option}\b", rest, re.M), option


def test_version(stoker):
    assert re.fullmatch(r"stoker \d+\.\d+\.\d+\n", stoker("version").stdout)
    assert stoker("--version").stdout == stoker("version").stdout
    assert stoker.json("version")["version"] in stoker("version").stdout


def test_doctor_finds_the_codecs_and_the_cores(stoker, photos):
    found = stoker.json("doctor", photos)
    assert {p["name"].split(",")[0] for p in found["pictures"]} == {"JPEG", "PNG", "WebP"}
    assert 1 <= found["cores"] <= os.cpu_count()
    assert found["cache_folder"] == str(stoker.folder / "cache/stoker")
    assert found["cache_writable"] is True
    assert found["datasets"] == [{"where": str(photos), "samples": 5, "index_kept": True}]
    pinned = subprocess.run(
        ["taskset", "-c", "0", stoker.binary, "doctor"],
        capture_output=True,
        text=True,
        env=stoker.env,
    )
    assert "cores to use       1\n" in pinned.stdout


def test_a_program_of_path_is_a_command(stoker):
    tool = stoker.folder / "bin" / "stoker-report"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$# [$1] [$2]"\nexit 7\n')
    tool.chmod(0o755)
    env = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
    assert stoker("report", "a b", "--json", env=env, code=7).stdout == "2 [a b] [--json]\n"
    assert stoker("help", "report", env=env, code=7).stdout == "1 [--help] []\n"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["verfy"], "Did you mean `stoker verify`?"),
        (["no-such-thing"], "no program 'stoker-no-such-thing' in PATH"),
        (["../bin/x"], "no command '../bin/x'"),
        (["--json"], "options come after it"),
        (["ls"], "which dataset?"),
        (["ls", "x", "-z"], "no option -z"),
        (["ls", "x", "-n"], "--first needs a value: N"),
        (["ls", "x", "-n0"], "it must be a number of 1 or more"),
        (["ls", "x", "-n", "99999999999999999999"], "it must be a number of 1 or more"),
        (["bench", "x", "--prefetch=65"], "it must be a number from 1 to 64"),
        (["bench", "x", "--memory", "1.5Q"], "a size such as"),
        (["version", "x"], "one word too many"),
    ],
)
def test_wrong_usage_is_told(stoker, args, text):
    done = stoker(*args, code=2)
    assert text in done.stderr
    assert done.stdout == ""


def test_words_that_look_like_options_come_after_two_dashes(stoker, tar):
    (stoker.folder / "-n.tar").write_bytes(tar.archive([(b"a.txt", b"1")]))
    assert stoker("ls", "-n", 1, "--", "-n.tar").stdout == "a       txt\n"


def on_terminal(command, folder, env):
    """Run it with a terminal as standard error; what it drew, and its output."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 90, 0, 0))
    process = subprocess.Popen(
        command, cwd=folder, env=env | {"TERM": "xterm"}, stderr=slave, stdout=subprocess.PIPE
    )
    os.close(slave)
    drawn = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(master)
    out = process.stdout.read()
    assert process.wait(timeout=60) == 0
    return drawn.decode(), out.decode()


def test_a_bar_on_terminals_only(stoker, many):
    command = [stoker.binary, "pack", "many", "-o"]
    drawn, out = on_terminal([*command, "a/%d.tar"], stoker.folder, stoker.env)
    assert re.search(r"\r\x1b\[Kpacking \[-+\]   0%  0 of 200 samples", drawn)
    assert drawn.endswith("\r\x1b[K")  # and the line is clean again
    assert out.startswith("packed 200 samples")
    drawn, _ = on_terminal([*command, "b/%d.tar", "--quiet"], stoker.folder, stoker.env)
    assert drawn == ""
    done = stoker("pack", "many", "-o", "c/%d.tar")
    assert done.stderr == ""


def test_output_that_cannot_be_written_is_a_failure(stoker, many):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [stoker.binary, "ls", "many"],
            cwd=stoker.folder,
            env=stoker.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert done.stderr == (
        "stoker: standard output could not be written: No space left on device\n"
    )


def test_a_closed_pipe_ends_it_quietly(stoker, many):
    for i in range(200, 4000):
        (many / f"{i:04}.bin").write_bytes(b"")
    process = stoker.start("ls", "many", "--json", "-l")
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=120) in (-signal.SIGPIPE, 0)
    assert process.stderr.read() == b""
    process.stderr.close()


def wait_until_it_read(process, size):
    """Wait until a process has read so many bytes, or has ended; the deadline is for a hang."""
    deadline = time.monotonic() + 60
    while process.poll() is None:
        io = Path(f"/proc/{process.pid}/io").read_text()
        if int(re.search(r"rchar: (\d+)", io)[1]) > size:
            break
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("command", ["index", "ls", "verify"])
def test_an_interrupt_ends_the_opening_of_a_shard_that_hangs(stoker, tar, command):
    """Whoever opens a file under a lease waits for its holder, who is told by a signal."""
    path = stoker.folder / "s.tar"
    path.write_bytes(tar.archive([(b"a.txt", b"x")]))
    asked = []
    before = signal.signal(signal.SIGIO, lambda *_: asked.append(1))
    fd = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.fcntl(fd, 1024, fcntl.F_WRLCK)  # F_SETLEASE
        except OSError:
            pytest.skip("this file system has no leases")
        process = stoker.start(command, "s.tar")
        deadline = time.monotonic() + 60
        while not asked:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)  # the file hangs still
        assert process.returncode == 130
        assert os.listdir(stoker.folder) == ["s.tar"]
    finally:
        os.close(fd)
        signal.signal(signal.SIGIO, before)
    stoker("index", "s.tar")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_verify_and_bench(stoker, tar, draw, number):
    big = draw(1500, 1500, quality=95, progressive=True)
    members = [(b"%03d.jpg" % i, big) for i in range(300)]  # seconds of work for one thread
    (stoker.folder / "s.tar").write_bytes(tar.archive(members))
    stoker("index", "s.tar")
    for args in (["verify", "s.tar", "-t", 1], ["bench", "s.tar", "-b", 4, "-e", 1000]):
        process = stoker.start(*args)
        wait_until_it_read(process, 4 * len(big))
        process.send_signal(number)
        process.communicate(timeout=120)
        assert process.returncode == 130
    assert sorted(p.name for p in stoker.folder.iterdir() if p.is_file()) == [
        "s.tar",
        "s.tar.stoker",
    ]


def test_an_interrupt_while_an_index_is_made_leaves_nothing_half(stoker, tar):
    head = tar.head(b"%08d.txt", 0)
    blocks = []
    for i in range(60_000):
        name = b"%08d" % i
        block = bytearray(head)
        block[:8] = name
        block[148:156] = b" " * 8
        block[8:12] = b".txt"
        block[148:156] = b"%06o\0 " % sum(block)
        blocks.append(bytes(block))
    (stoker.folder / "s.tar").write_bytes(b"".join(blocks) + tar.END)
    for share in (0.1, 0.5, 0.9):  # of the headers that were read
        codes = []
        while 130 not in codes and len(codes) < 50:  # what ends before the signal comes gives 0
            process = stoker.start("index", "s.tar", "--force")
            wait_until_it_read(process, share * 60_000 * 512)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
            codes.append(process.returncode)
        assert set(codes) <= {0, 130}
        assert 130 in codes
    assert stoker.json("index", "s.tar", "--force")["datasets"][0]["samples"] == 60_000
    assert sorted(os.listdir(stoker.folder)) == ["s.tar", "s.tar.stoker"]
