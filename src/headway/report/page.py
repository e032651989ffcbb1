"""The page: HTML around sentences, figures and tables. Whatever comes from the user is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from headway.plots.svg import COLOURS, STYLE, Figure, clean

# Nothing may be fetched and nothing run: the page is what it says, on any machine.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_PAGE_STYLE = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
:root{--page:#f4f6f8;--edge:#d8dee4;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--page:#0b0f14;--edge:#2d343d}}
main{max-width:1240px;margin:0 auto;padding:16px}
h1{font-size:1.1rem;font-weight:600;color:var(--soft);margin:8px 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:32px 0 12px}h3{font-size:1rem;margin:0 0 8px}
.headline{font-size:1.7rem;line-height:1.25;font-weight:650;margin:0 0 16px;overflow-wrap:anywhere}
.top{display:grid;gap:16px;align-items:start}
.grid{columns:340px;column-gap:16px}.grid>.card{break-inside:avoid;margin-bottom:16px}
.top{grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr))}
.card{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:14px;
 min-width:0;margin:0}
figure svg{display:block;width:100%;height:auto}
figcaption,.quiet{color:var(--soft);font-size:.875rem;margin-top:8px;overflow-wrap:anywhere}
dl{margin:0}dt{font-weight:600;margin-top:10px}dt:first-child{margin-top:0}
dd{margin:0;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding-bottom:6px}
th,td{text-align:left;padding:5px 12px 5px 0;border-top:1px solid var(--edge);vertical-align:top}
.use th{font-weight:400;color:var(--soft);overflow-wrap:anywhere}
.use td{font-weight:600;overflow-wrap:anywhere;text-align:right;padding-right:0;min-width:6.5em}
.scroll{overflow-x:auto}.scroll table{font-size:.8125rem}
.scroll td{max-width:22em;overflow-wrap:break-word}.scroll th{white-space:nowrap}
details,details.card{margin-top:12px}summary{cursor:pointer;padding:4px 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8125rem;margin:8px 0 0}
a{color:var(--a)}:focus-visible{outline:2px solid var(--a);outline-offset:2px}
@media print{body{background:#fff}.card{break-inside:avoid}}
"""


def text(given: object) -> str:
    """What comes from the user, harmless."""
    return escape(clean(given))


def document(title: str, body: Iterable[str]) -> str:
    """The whole page."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            '<link rel="icon" href="data:,">',  # else a browser asks the server for one
            f"<title>{text(title)}</title>",
            f"<style>{COLOURS}{STYLE}{_PAGE_STYLE}</style>\n</head>\n<body>\n<main>",
            *body,
            "</main>\n</body>\n</html>\n",
        ]
    )


def figure(given: Figure) -> str:
    """A picture with its title and caption."""
    return (
        f'<figure class="card" id="{given.name}"><h3>{text(given.title)}</h3>\n{given.inline()}\n'
        f"<figcaption>{text(given.words)}</figcaption></figure>"
    )


def note(title: str, words: str) -> str:
    """What stands in the place of a picture that cannot be drawn."""
    return (
        f'<section class="card"><h3>{text(title)}</h3><p class="quiet">{text(words)}</p></section>'
    )


def section(heading: str, cards: Sequence[str]) -> str:
    """Cards side by side, as many as there is room for."""
    inner = "\n".join(cards)
    return f'<h2>{text(heading)}</h2>\n<div class="grid">\n{inner}\n</div>' if cards else ""


def pairs(kind: str, caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values."""
    body = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in rows
    )
    head = f"<caption>{text(caption)}</caption>" if caption else ""
    return f'<table class="{kind}">{head}<tbody>{body}</tbody></table>'


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A wide table that scrolls by itself."""
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="all trials"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def details(summary: str, inner: str) -> str:
    """What is shown when asked for."""
    return f'<details class="card"><summary>{text(summary)}</summary>\n{inner}\n</details>'


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Short headings, each with its sentences."""
    body = "".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in rows)
    return f"<dl>{body}</dl>"
