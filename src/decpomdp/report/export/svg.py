"""A controller as a drawing that stands alone: the report's graph with a style sheet of its own."""

from decpomdp.core import Agent, Controller, InputError
from decpomdp.report.graph import MOST_NODES, graph_of
from decpomdp.report.markup import NO_XML
from decpomdp.report.performance import Use, moves_of

STYLE = """
svg { background: #ffffff; font: 12px sans-serif; fill: #1d2126; }
.does { font-size: 12.5px; font-weight: 600; } .foot, .aside { font-size: 11px; fill: #5b626b; }
.number { display: none; }
.link text, .start text { font-size: 11.5px; } .start text { fill: #0b6e75; font-weight: 600; }
.body, .back { fill: #ffffff; } .frame { stroke: #1d2126; } .frame:not(.body) { fill: none; } .idle { opacity: 0.6; }
.wire, .rare path { fill: none; stroke: #1d2126; } .start .wire { stroke: #0b6e75; }
.reach { fill: none; stroke: transparent; stroke-width: 12; } .rare path { opacity: 0.3; stroke-dasharray: 3 3; }
.rare .unused { display: none; }
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
