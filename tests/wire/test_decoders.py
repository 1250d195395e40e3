"""Threads that are the first to use a type at the same time, in a process of their own: a fault crashes it."""

import subprocess
import sys

import pytest

TWO_THREADS = """
import sys, threading
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

def decode(act, given, kind, start):
    start.wait()
    found.append(act(given, kind).inner.number)

sys.setswitchinterval(1e-6)
found = []
for _ in range(100):
    class Inner(Struct):
        number: "int"
    class Outer(Struct):
        inner: Inner
        name: str
    used = USED, Outer, threading.Barrier(2)
    other = threading.Thread(target=decode, args=used)
    other.start()
    decode(*used)
    other.join()
print(sum(found))
"""


@pytest.mark.parametrize(
    "used",
    [
        pytest.param("""payload.typed, b'{"inner":{"number":1},"name":"a"}'""", id="typed"),
        pytest.param("""payload.convert, {"inner": {"number": 1}, "name": "a"}""", id="convert"),
    ],
)
def test_threads_may_be_the_first_to_use_a_type_at_the_same_time(used: str) -> None:
    program = TWO_THREADS.replace("USED", used)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
