"""A controller as a drawing that stands alone: the report's graph with a style sheet of its own."""

from decpomdp.core import Agent, Controller, InputError
from decpomdp.report.graph import MOST_NODES, graph_of
from decpomdp.report.use import Use, moves_of

NO_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}  # HTML lets them pass, XML does not

STYLE = """
svg { background: #ffffff; font: 12px sans-serif; fill: #1d2126; }
.does { font-size: 12.5px; font-weight: 600; } .foot { font-size: 11px; fill: #5b626b; }
.link text, .start text { font-size: 11.5px; } .start text { fill: #0b6e75; font-weight: 600; }
.body { fill: #ffffff; stroke: #1d2126; stroke-width: 1.4; } .back { fill: #ffffff; }
.wire, .rare path { fill: none; stroke: #1d2126; } .start .wire { stroke: #0b6e75; }
.reach { fill: none; stroke: transparent; stroke-width: 12; } .rare path { opacity: 0.3; stroke-dasharray: 3 3; }
"""


def svg_source(agent: Agent, controller: Controller) -> str:
    """The drawing; links as likely as if every observation were equally likely."""
    use = Use(None, moves_of(controller) / controller.observations)
    graph = graph_of(agent, controller, use, "controller")
    if graph is None:
        raise InputError(
            f"svg: expected at most {MOST_NODES} nodes, got {controller.nodes} for {agent.name}; "
            "the formats dot and json have no limit"
        )
    opened, rest = graph.drawn.translate(NO_XML).split(">", 1)
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{rest}\n'
