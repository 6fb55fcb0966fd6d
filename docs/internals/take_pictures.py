"""Take the pictures of docs/how-to/answer.md anew, in a real Chromium: ``python docs/internals/take_pictures.py``.

They show the demo's sandbox and the service's own pages, as they are when the script runs.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from pathlib import Path

from playwright.async_api import ViewportSize, async_playwright, expect

from bot.demo.samples import REFUND
from bot.demo.stage import staged

IMAGES = Path(__file__).parents[1] / "images"
DESK = ViewportSize(width=1500, height=1100)
SHEET = ViewportSize(width=600, height=900)


async def main() -> None:
    """Ask once, let two hours pass, and take each thing as the person has it in front of them."""
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            sandbox = await browser.new_page(viewport=DESK)
            await sandbox.goto(stage.page_url)
            await stage.agent(REFUND, interval=3600)

            asked = sandbox.locator(".message").filter(has_text=REFUND.question).first
            await expect(asked).to_be_visible(timeout=60_000)
            await asked.screenshot(path=IMAGES / "answer-slack.png")

            [ref] = re.findall(r"HR-\w+", await asked.inner_text())[:1]
            await stage.let_silence_pass(ref)
            await expect(sandbox.locator("#mails > *").first).to_contain_text(REFUND.question)
            mail = sandbox.frame_locator("#reader iframe")
            await sandbox.locator("#mails > *").first.click()
            await expect(mail.locator("body")).to_contain_text(REFUND.question)
            await sandbox.locator("section.mail").screenshot(path=IMAGES / "answer-mail.png")

            link = await mail.get_by_role("link", name="Approve refund").first.get_attribute("href")
            assert link is not None  # noqa: S101 (every choice has a link)
            sheet = await browser.new_page(viewport=SHEET)
            await sheet.goto(link)
            await sheet.screenshot(path=IMAGES / "answer-page.png", full_page=True)

            await stage.let_silence_pass(ref)
            await expect(sandbox.locator("#incidents > *").first).to_contain_text(REFUND.question)
            incident = await sandbox.locator("#incidents > *").first.bounding_box()
            assert incident is not None  # noqa: S101 (it is visible)
            await sandbox.screenshot(path=IMAGES / "answer-pager.png", clip=incident)

            await asked.get_by_role("button", name="Approve refund").click()
            await expect(asked).to_contain_text("Answered")
            await asked.screenshot(path=IMAGES / "answer-ended.png")
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
