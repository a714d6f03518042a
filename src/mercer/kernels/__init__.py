"""What similarity is: kernels and their algebra."""

from mercer.kernels import operators  # noqa: F401  (makes + * ** work on kernels)
from mercer.kernels.algebra import Constant, Product, Scaled, Sum
from mercer.kernels.dot import *  # noqa: F403
from mercer.kernels.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import Composed, DirectSum, RankOne, Selected, Tensor
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Cauchy, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.dot import __all__ as d
__all__ = ["Cauchy","Composed","Constant","DirectSum","Exp","Exponential","Gaussian","Kernel","Laplacian","Matern","Normalized","PolynomialOf","Power","Precomputed","Product","RankOne","RationalQuadratic","Scaled","Selected","Sum","Tensor"]+d
