"""Commands carried out. An effect is one commit that also moves the cursor; a reading command is only answered."""

from prd2pr.flows.obey.carry import obey
from prd2pr.flows.obey.order import Obeyed, Ordered

__all__ = ["Obeyed", "Ordered", "obey"]
