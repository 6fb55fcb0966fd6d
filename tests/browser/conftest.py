"""A real Chromium for every test here; without one each fails and says so."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright, expect

from tests.patience import PATIENCE

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    executable = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if executable is None:
        pytest.fail("There is no Chromium on this machine: apt-get install chromium.", pytrace=False)
    expect.set_options(timeout=1000 * PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=list(_FLAGS))
        yield browser
        await browser.close()
