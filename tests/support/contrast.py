"""The contrast of all texts on a page, those in pictures too, as WCAG defines it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

LEAST_CONTRAST = 4.5
# Texts that are seen, each with its colour and its box. Then they are made invisible, so that a picture shows
# what lies behind them.
TEXTS = """() => {
  const found = [], range = document.createRange(), dialog = document.querySelector("dialog[open]");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, element = node.parentElement;
    if (dialog && !dialog.contains(node)) continue; // what lies under a dialog is dimmed
    if (!node.data.trim() || element.closest("script, style, [disabled], option, noscript")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element);
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (box.width < 2 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue;
    const top = document.elementFromPoint(x, y);
    const hidden = !element.ownerSVGElement && top && !element.contains(top) && !top.contains(element);
    if (hidden) continue;
    let opacity = element.ownerSVGElement ? Number(style.fillOpacity) : 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const colour = (element.ownerSVGElement ? style.fill : style.color).match(/[\\d.]+/g).map(Number);
    found.push({ text: node.data.trim(), colour: colour.slice(0, 3), alpha: (colour[3] ?? 1) * opacity,
      box: [box.x, box.y, box.width, box.height] });
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { color: transparent !important; transition: none !important; } " +
    "svg text { fill: transparent !important; stroke: none !important; }");
  document.adoptedStyleSheets = [sheet];
  return found;
}"""


def luminance(colours: np.ndarray) -> np.ndarray:
    """Return the relative luminance of colours [..., 3] of 0 to 255, as WCAG defines it."""
    parts = np.asarray(colours, float) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def faint(page: Any) -> list[str]:
    """Return the texts on a page whose contrast is below 4.5, with it; behind each lies its median pixel."""
    texts = page.evaluate(TEXTS)
    assert texts
    drawn = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    page.evaluate("document.adoptedStyleSheets = []")
    found = []
    for each in texts:
        x, y, width, height = (round(number) for number in each["box"])
        behind = drawn[max(0, y) : y + max(1, height), max(0, x) : x + max(1, width)].reshape(-1, 3)
        ground = behind[np.argsort(luminance(behind))[len(behind) // 2]]
        colour = each["alpha"] * np.array(each["colour"]) + (1 - each["alpha"]) * ground
        dark, light = sorted(luminance(np.array([ground, colour])))
        if (contrast := (light + 0.05) / (dark + 0.05)) < LEAST_CONTRAST:
            found.append(f"{each['text']!r} {contrast:.2f}")
    return found
