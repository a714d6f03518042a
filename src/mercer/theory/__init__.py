"""Learning theory as numbers: concentration, capacities, bounds on risks, and the certificates made of them."""

from mercer.exports import export

__all__ = export(__name__)
