"""Grids and pictures on their way to the browser."""

import base64

import numpy as np

from mercer.studio.pixels import INKS, grid_of, packed_floats, picture


def test_a_grid_begins_at_the_top_left():
    assert grid_of(-1.0, 1.0, 2).tolist() == [[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]


def test_numbers_come_back():
    values = np.random.default_rng(0).normal(size=(3, 4)).astype("<f4")
    packed = packed_floats(values)
    assert packed["shape"] == [3, 4]
    assert np.array_equal(np.frombuffer(base64.b64decode(packed["data"]), "<f4").reshape(3, 4), values)


def test_a_picture_is_an_image_in_the_ink_of_the_page_and_names_are_escaped():
    for theme, ink in INKS.items():
        source = picture(lambda ax: ax.set_title("<script>alert(1)</script>"), (2.0, 2.0), theme)
        text = base64.b64decode(source.partition("base64,")[2]).decode()
        assert text.startswith("<svg") and "xmlns=" in text and ink in text and "currentColor" not in text
        assert "<script" not in text and "&lt;script" in text
