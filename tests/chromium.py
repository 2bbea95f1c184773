"""The browser of tests and benchmarks: Chromium without a window, driven by Selenium."""

import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
IS_HERE = CHROMIUM is not None and DRIVER is not None
_FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")


def open_chromium(*, downloads: str | None = None) -> webdriver.Chrome:
    """Open a browser of 1300 x 900; its console is logged."""
    os.environ["SE_OFFLINE"] = "true"  # the driver is given: nothing is fetched
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*_FLAGS, "window-size=1300,900"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": downloads})
    return webdriver.Chrome(options=options, service=Service(DRIVER))
