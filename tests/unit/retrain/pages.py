"""A report as a browser or a person would take it apart."""

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

VOID = {"meta", "link"}
ELSEWHERE = re.compile(r"url\(|@import|https?:|//")
LOADING = {"src", "srcset", "action", "xlink:href", "data", "style"}
"""What would load something, or lead anywhere."""


class Page(HTMLParser):
    """Tags, figures with their parts, and texts; fails where a tag is not closed in its place."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.figures: list[list[str]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "figure":
            self.figures.append([])
        elif "figure" in self.open:
            self.figures[-1].append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def said(self) -> str:
        return " ".join(self.text)


def sound(page: str) -> Page:
    """The page, once it is known to be whole, self-contained and fit for a phone."""
    result = Page(page)
    for svg in re.findall("<svg.*?</svg>", page, re.DOTALL):
        drawn = ElementTree.fromstring(svg)
        assert drawn.get("aria-label")
        assert not re.search("nan|inf(?!o)|None", re.sub('>[^<]*<|aria-label="[^"]*"', "", svg))
    for parts in result.figures:
        assert "table" in parts
        assert "details" in parts
    style = page[page.index("<style>") : page.index("</style>")]
    assert not ELSEWHERE.search(style)
    markup = re.sub(r"<style>.*?</style>|>[^<]*<", "><", page, flags=re.DOTALL)
    assert not any(name.startswith("on") or name in LOADING for name in result.attributes)
    assert set(re.findall(r'href="([^"]*)"', markup)) <= {"data:,"}
    assert not result.tags & {"script", "iframe", "img", "object", "embed", "form"}
    assert 'name="viewport"' in page
    assert "prefers-color-scheme" in style
    assert "@media print" in style
    return result
