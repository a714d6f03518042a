r"""
The feature map as a picture
============================

Two classes that no line separates: one inside an ellipse, the other outside. The ellipse
:math:`a\,x_1^2 + b\,x_1 x_2 + c\,x_2^2 = 1` is bent in the plane, but it is flat in the three numbers
:math:`\Phi(x) = (x_1^2, \sqrt{2}\,x_1 x_2, x_2^2)`. A kernel method works among these images without ever computing
them, because their inner products are the squares of those in the plane:

.. math:: \langle \Phi(x), \Phi(z) \rangle = x_1^2 z_1^2 + 2\, x_1 x_2 z_1 z_2 + x_2^2 z_2^2 = \langle x, z \rangle^2.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.domains import Vectors
from mercer.gram import Dense, Features
from mercer.kernels import Gaussian, Polynomial, Subspace

rng = np.random.default_rng(3)
X = rng.uniform(-1.3, 1.3, size=(500, 2))
form = 1.1 * X[:, 0] ** 2 + 0.9 * X[:, 0] * X[:, 1] + 1.4 * X[:, 1] ** 2
clear = np.abs(form - 1.0) > 0.15  # leave a gap, so that the classes can be separated
X, y = X[clear], (form[clear] > 1.0).astype(int)

# %%
# The kernel is the homogeneous polynomial of degree two, and it knows its feature map.

kernel = Polynomial(2, offset=0.0)
images, _ = kernel.features(Vectors.pack(X))
print("Phi(x) of x = (2, 3):", kernel.features(Vectors.pack([[2.0, 3.0]]))[0].round(3))
print(f"largest difference between <Phi(x), Phi(z)> and k(x, z): {np.abs(images @ images.T - kernel(X)).max():.1e}")

# %%
# The same machine is fitted twice: from kernel values alone (the dual, a coefficient for every sample) and from the
# three features (the primal, a weight for every feature). Both give the same function.

dual = SVC(kernel, C=1e3, tol=1e-8, gram=Dense()).fit(X, y)
primal = SVC(kernel, C=1e3, tol=1e-8, gram=Features()).fit(X, y)
w, b = primal.expansion_.weights.ravel(), float(np.ravel(primal.intercept_)[0])
gap = np.abs(dual.decision_function(X) - primal.decision_function(X)).max()
print(f"{len(dual.support_)} support vectors; weights {w.round(3)}, intercept {b:.3f}; difference {gap:.1e}")
print("over the intercept they are the ellipse:", (w / -b * (1.0, np.sqrt(2.0), 1.0)).round(2), "for 1.1, 0.9, 1.4")

# %%
# On the left, the images with the plane :math:`\langle w, \Phi(x) \rangle + b = 0` between the classes. All images lie
# on a cone, the surface onto which the input plane is mapped. On the right, the same boundary in the input plane, where
# the plane cuts the cone: an ellipse. The margin is dashed, and rings mark support vectors.

colours = np.where(y == 1, "#a02020", "#2050a0")
figure = plt.figure(figsize=(11, 5), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
space.scatter(*images.T, c=colours, s=7, depthshade=False)
first, second = np.meshgrid(np.linspace(0, 1.7, 30), np.linspace(-1.8, 1.8, 30))
third = -(b + w[0] * first + w[1] * second) / w[2]
third[(third < 0) | (third > 1.7)] = np.nan
space.plot_surface(first, second, third, color="0.5", alpha=0.4)
space.set(xlabel="$x_1^2$", ylabel=r"$\sqrt{2}\,x_1 x_2$", zlabel="$x_2^2$", title="feature space")
space.view_init(elev=12, azim=-60)

plane = figure.add_subplot(1, 2, 2)
across, up = np.meshgrid(np.linspace(-1.3, 1.3, 200), np.linspace(-1.3, 1.3, 200))
f = dual.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
plane.contour(across, up, f, levels=[-1, 0, 1], colors="0.2", linestyles=["--", "-", "--"], linewidths=[1, 2, 1])
plane.scatter(*X.T, c=colours, s=8)
plane.scatter(*dual.support_vectors_.T, s=70, facecolors="none", edgecolors="k")
plane.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="inputs")
plt.show()

# %%
# **A map for kernels that have none.** The images under a Gaussian kernel have infinitely many coordinates. But those
# of a few points :math:`z_1, \dots, z_m` span a subspace of at most m dimensions, and the kernel PCA map
# :math:`\Phi_m(x) = K^{-1/2} (k(x, z_1), \dots, k(x, z_m))^\top` gives coordinates in it. ``Subspace`` is the kernel of
# that subspace, with these coordinates as its features. Three points are used here, so that the images can be drawn.

points = np.array([[0.0, 0.0], [1.0, 0.8], [-1.2, 1.2]])
few = Subspace(Gaussian(1.0), points)
seen, _ = few.features(Vectors.pack(X))
model = SVC(few, C=1e3, gram=Features()).fit(X, y)
figure = plt.figure(figsize=(11, 5), layout="constrained")
space = figure.add_subplot(1, 2, 1, projection="3d")
space.scatter(*seen.T, c=colours, s=7, depthshade=False)
space.set(xlabel="1", ylabel="2", zlabel="3", title="kernel PCA map of three points")
space.view_init(elev=22, azim=35)
plane = figure.add_subplot(1, 2, 2)
f = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
plane.contour(across, up, f, levels=[0], colors="0.2", linewidths=2)
plane.scatter(*X.T, c=colours, s=8)
plane.plot(*points.T, "k^", markersize=9)
plane.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="a plane there, back among the inputs")
plt.show()
print(f"errors with three points: {np.mean(model.predict(X) != y):.3f}")
