"""How pages look: light, dark and printed, from a phone's width on.

Fills of stacks are a light scheme made for black letters upon it, lines a scheme that stays apart
for the colour-blind; neither is the only thing that tells parts apart, since letters do as well.
"""

_LIGHT = """
--page:#fff;--card:#fff;--edge:#d8dce2;--ink:#1a1d21;--quiet:#5b636e;--grid:#e3e6ea;
--bar:#3b78b5;--band:#f1dfa8;--mark:#a34700;--dot:#3b78b5;
--s0:#0065a8;--s1:#c04a00;--s2:#007a58;--s3:#a8487e;--s4:#7a6300;--s5:#1d8cc2;--s6:#6b4fb3;
--s7:#555;color-scheme:light;
"""
_DARK = """
--page:#14171b;--card:#1b1f24;--edge:#343a42;--ink:#e8eaed;--quiet:#a2abb6;--grid:#323840;
--bar:#6aa9e4;--band:#4d4320;--mark:#ffab5e;--dot:#6aa9e4;
--s0:#6ab7f0;--s1:#ff9152;--s2:#3fcf9f;--s3:#ee9cc9;--s4:#dcc14f;--s5:#a7defa;--s6:#b9a3f5;
--s7:#b8bec6;color-scheme:dark;
"""
_STACK = ("#7ad", "#e86", "#4b9", "#ed8", "#fab", "#9df", "#bc3", "#aa0")
_RULES = """
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:1rem;
background:var(--page);color:var(--ink);overflow-wrap:anywhere}
h1{font-size:1.3rem;line-height:1.25;margin:.3rem 0 1rem}
h2{font-size:1.1rem;margin:1.8rem 0 .7rem}h3{font-size:1rem;margin:0}
p{margin:.2rem 0 .6rem}.quiet,figcaption p{color:var(--quiet);font-size:.87rem}
td,th,text,h1,li{unicode-bidi:isolate}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;margin:0}
.tiles div,figure,.card{border:1px solid var(--edge);border-radius:8px;background:var(--card)}
.tiles div{padding:.5rem .7rem}.tiles dt{color:var(--quiet);font-size:.82rem;line-height:1.3}
.tiles dd{margin:0;font-size:1.35rem;font-weight:600}
.tiles small{display:block;font-size:.78rem;font-weight:400;color:var(--quiet)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr));gap:.8rem;
align-items:start}
figure{margin:0;padding:.7rem;min-width:0}.card{padding:.5rem .7rem;min-width:0}
svg{display:block;width:100%;height:auto;max-width:34rem;margin:0 auto}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;vertical-align:top}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;min-width:7rem}
tr{border-bottom:1px solid var(--edge)}
th{color:var(--quiet);font-weight:600;white-space:normal;min-width:4rem}
th,td:not(:first-child){overflow-wrap:normal}
.facts td{text-align:left;white-space:normal}.facts td:last-child{overflow-wrap:anywhere}
.told td:last-child{text-align:left;white-space:normal;min-width:11rem;overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--quiet);font-size:.87rem;padding:.3rem 0}
.key{list-style:none;margin:.4rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem .9rem;
font-size:.82rem}
.key i{display:inline-block;width:1.35em;height:1.35em;margin-right:.4em;text-align:center;
font-style:normal;vertical-align:-.2em;line-height:1.35em;border-radius:2px}
.key i:not(.line){color:#111}
.key i.line{height:0;border-top:3px solid;vertical-align:.25em}
.l{font-size:11.5px;fill:var(--ink)}.t{font-size:10.5px;fill:var(--quiet)}
.on{font-size:10px;fill:#111;font-weight:600}
.g{stroke:var(--grid);fill:none}.bar{fill:var(--bar)}.band{fill:var(--band)}
.whisker{stroke:var(--quiet);stroke-width:1.5;fill:none}
.middle{stroke:var(--ink);stroke-width:2;fill:none}
.mark{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:4 3;fill:none}
.ideal{stroke:var(--mark);stroke-width:1.3;fill:none}
.near{stroke:var(--mark);stroke-dasharray:4 3;fill:none}
.series{fill:none;stroke-width:2}.dot{stroke:none}
.ceiling{stroke:var(--mark);color:var(--mark);stroke-dasharray:4 3;stroke-width:1.5}
.key i.ceiling{border-top-style:dashed}
.kx{fill:var(--grid);background:var(--grid)}
rect[class^=k]{stroke:var(--card);stroke-width:1}
@media screen and (min-width:60rem){.card{grid-column:span 2}}
@media (max-width:30rem){body{padding:.6rem}figure,.card{padding:.5rem}}
@media print{body{max-width:none;padding:0;font-size:11px}
figure,.card,.tiles div,tr{break-inside:avoid}h2,h3,figcaption{break-after:avoid}
.grid{grid-template-columns:1fr 1fr}.wide{overflow:visible}summary{display:none}
details::details-content{content-visibility:visible;display:block;height:auto}
table{font-size:9px}th,td{padding:.1rem .3rem}th:first-child,td:first-child{min-width:5rem}
th{min-width:0}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


def style() -> str:
    """The style of every page."""
    shades = "".join(
        f".d{at}{{fill:var(--dot);fill-opacity:{opacity:.1f}}}"
        f"i.d{at}{{background:var(--dot);opacity:{opacity:.1f}}}"
        for at, opacity in enumerate((0.2, 0.4, 0.6, 0.8, 1.0))
    )
    stacks = "".join(f".k{at}{{fill:{c};background:{c}}}" for at, c in enumerate(_STACK))
    series = "".join(
        f".s{at}{{stroke:var(--s{at});color:var(--s{at})}}.dot.s{at}{{fill:var(--s{at})}}"
        for at in range(8)
    )
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    return f":root{{{_LIGHT}}}{dark}{_RULES}{shades}{stacks}{series}".replace("\n", "")
