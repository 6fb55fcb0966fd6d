"""Server-sent events, as the WHATWG has them."""

from __future__ import annotations

import pytest
from handraise.sse import Block, BlockParser

SAID = (
    b": connected\nid: 7-1\n\n"
    b'id: 7-2\r\nevent: intent.suspended\r\ndata: {"question": "R\xc3\xa9fund\xe2\x80\xa8now\xc2\x85?"}\r\n\r\n'
    b": still here\n\n"
    b"retry: 1500\rdata:one\rdata: two\r\r"
    b"id: 7-3\ndata\n\n"
    b"id: 7-4\ndata: broken off\n"
)
BLOCKS = [
    Block(None, "7-1"),
    Block('{"question": "Réfund\u2028now\u0085?"}', "7-2"),
    Block(None, "7-2"),
    Block("one\ntwo", "7-2", 1500),
    Block("", "7-3", 1500),
]


def parsed(*chunks: bytes, last_id: str | None = None) -> list[Block]:
    parser = BlockParser(last_id)
    return [block for chunk in chunks for block in parser.feed(chunk)]


def test_a_stream_is_its_blocks_and_one_that_is_broken_off_is_none():
    assert parsed(SAID) == BLOCKS


def test_it_does_not_matter_where_the_network_cuts_it():
    for place in range(len(SAID) + 1):
        assert parsed(SAID[:place], SAID[place:]) == BLOCKS
    assert parsed(*(SAID[place : place + 1] for place in range(len(SAID)))) == BLOCKS


def test_a_byte_order_mark_in_front_is_none_of_it():
    assert parsed(b"\xef\xbb\xbfdata: x\n\n") == [Block("x", None)]
    assert parsed(b"\xef", b"\xbb\xbfdata: x\n\n") == [Block("x", None)]


def test_a_carriage_return_alone_ends_a_line_at_once():
    assert parsed(b"data: x\r\r") == [Block("x", None)]
    assert parsed(b"data: x\r\r", b"\ndata: y\r\r") == [Block("x", None), Block("y", None)]


@pytest.mark.parametrize(("line", "last_id"), [(b"id: 9", "9"), (b"id: a\0b", "8"), (b"id", None), (b"ids: 9", "8")])
def test_what_an_id_may_be(line, last_id):
    assert parsed(line + b"\ndata: x\n\n", last_id="8") == [Block("x", last_id)]


@pytest.mark.parametrize("retry", [b"soon", b"-1", b"1.5", b"\xd9\xa1", b""])
def test_a_pause_that_is_no_number_is_passed_over(retry):
    assert parsed(b"retry: " + retry + b"\ndata: x\n\n") == [Block("x", None)]


def test_only_one_blank_before_a_value_goes():
    assert parsed(b"data:  x : y\n\n") == [Block(" x : y", None)]
