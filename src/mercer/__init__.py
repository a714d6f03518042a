"""mercer: kernel-based pattern analysis.

Names are imported when they are first used, so that ``import mercer`` costs nothing.
"""

from mercer.exports import export

__version__ = "0.1.0.dev0"

__all__ = export(__name__)
