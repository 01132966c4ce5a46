"""Curves of a run as an SVG picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, PAD = 360, 120, 24


def curve(title: str, values: Mapping[int, float]) -> str:
    """Return a curve by cycle as the text of an SVG file, with its lowest and highest value."""
    cycles = sorted(values)
    low, high = min(values.values()), max(values.values())
    across = max(1, cycles[-1] - cycles[0]) if cycles else 1

    def place(cycle: int) -> str:
        x = PAD + (WIDTH - 2 * PAD) * (cycle - cycles[0]) / across
        y = HEIGHT - PAD - (HEIGHT - 2 * PAD) * (values[cycle] - low) / ((high - low) or 1)
        return f"{x:.1f},{y:.1f}"

    text = f'font-family="sans-serif" font-size="11" fill="currentColor" x="{PAD}"'
    points = " ".join(map(place, cycles))
    x, y = place(cycles[-1]).split(",")  # a dot, which is all that one cycle leaves to see
    ends = f"cycle {cycles[0]} to {cycles[-1]}, {low:.3g} to {high:.3g}, now {values[cycles[-1]]:.3g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
        f'<text {text} y="14">{title}</text><text {text} y="{HEIGHT - 6}">{ends}</text>'
        f'<polyline points="{points}" fill="none" stroke="#2f7ebc" stroke-width="2"/>'
        f'<circle cx="{x}" cy="{y}" r="3" fill="#2f7ebc"/></svg>'
    )


def curves(stats: Mapping[int, Mapping[str, float]], tags: Sequence[str]) -> str:
    """Return the curves of some stats below each other, of those that some cycles have."""
    return "".join(f"<div>{curve(tag, values)}</div>" for tag, values in known_values(stats, tags).items())


def last_values(stats: Mapping[int, Mapping[str, float]], tags: Sequence[str]) -> dict[str, float]:
    """Return the last value of some stats, of those that some cycles have."""
    return {tag: values[max(values)] for tag, values in known_values(stats, tags).items()}


def known_values(
    stats: Mapping[int, Mapping[str, float]], tags: Sequence[str]
) -> dict[str, dict[int, float]]:
    """Return some stats by cycle, of those that some cycles have."""
    known = {tag: {cycle: row[tag] for cycle, row in stats.items() if tag in row} for tag in tags}
    return {tag: values for tag, values in known.items() if values}
