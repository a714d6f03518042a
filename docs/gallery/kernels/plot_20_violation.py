r"""
A function that is not a kernel, and what can be done
=====================================================

A kernel is an inner product of images, so no weights :math:`c` may give :math:`\sum_{ij} c_i c_j k(x_i, x_j) < 0`: that
would be a vector whose squared length is negative. The sigmoid :math:`\tanh(s \langle x, x' \rangle + c)`, once a
popular choice, is not a kernel. Here we search for points that prove it, and train a support vector machine with it all
the same, under three policies.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC
from mercer.gram import Dense
from mercer.hilbert import definiteness, find_violation
from mercer.kernels import Gaussian, Sigmoid

kernel = Sigmoid(1.0, offset=0.5)

# %%
# Points and a vector
# -------------------
# One negative sum is a proof, and it takes few points. For the Gaussian the same search finds nothing, which proves
# nothing, but it reports how many matrices were tried.

found = find_violation(kernel)
print(found)
print("Gaussian:", find_violation(Gaussian(1.0), restarts=2))

K = kernel(found.points)
print(f"c'Kc = {found.vector @ K @ found.vector:.4f}")

# %%
# A violation with one point is a negative squared length, and one with two points breaks the Cauchy-Schwarz inequality.
# With more points, the vector says how to add the images to get something of negative squared length. Next to it is the
# quotient along all directions between the violating vector and the best one.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sizes = 900 * np.abs(found.vector)
colours = np.where(found.vector > 0, "tab:blue", "tab:red")
left.scatter(*found.points.T, s=sizes, c=colours, alpha=0.6)
for point, weight in zip(found.points, found.vector, strict=True):
    left.annotate(f"{weight:.2f}", point, ha="center", va="center")
left.axhline(0, color="0.8", zorder=0)
left.axvline(0, color="0.8", zorder=0)
left.set(title="the points, with their weights c", aspect="equal")
left.margins(0.3)

values, vectors = np.linalg.eigh(K)
angle = np.linspace(-np.pi, np.pi, 400)
directions = np.outer(np.cos(angle), vectors[:, 0]) + np.outer(np.sin(angle), vectors[:, -1])
quotients = np.einsum("ij,jk,ik->i", directions, K, directions)
right.plot(np.degrees(angle), quotients)
right.fill_between(np.degrees(angle), quotients, 0.0, where=quotients < 0, color="tab:red", alpha=0.4)
right.axhline(0, color="0.5", linewidth=1)
right.set(title="quotients c'Kc / c'c of unit vectors", xlabel="degrees from the violating vector to the best one")
plt.show()

# %%
# The spectrum, repaired
# ----------------------
# On the moons the matrix has many negative eigenvalues. The function on these samples is the difference of two kernels;
# *clip* drops the second, *flip* adds it, *shift* raises every eigenvalue by the size of the smallest.

X, y = make_moons(120, noise=0.2, random_state=0)
print(definiteness(kernel(X)))

samples = kernel.pack(X)
policies = ("clip", "flip", "shift")
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharey=True, layout="constrained")
for ax, policy in zip(axes, (None, *policies), strict=True):
    gram = Dense(indefinite=policy).build(kernel, samples)
    spectrum = np.linalg.eigvalsh(gram.array)[::-1]
    place = np.arange(1, len(spectrum) + 1)
    ax.vlines(place, 0.0, spectrum, color=np.where(spectrum < -1e-9, "tab:red", "tab:blue"))
    ax.set_yscale("symlog", linthresh=1e-3)
    ax.set(title="as it is" if policy is None else policy, xlabel="number")
    if gram.repair is not None:
        print(gram.repair)
axes[0].set_ylabel("eigenvalue")
plt.show()

# %%
# A machine by each policy
# ------------------------
# The program of the support vector machine is convex again. The policy is an argument, and the fitted machine says in
# ``repair_`` what it cost. At new points the function is an expansion in the sigmoid itself, with coefficients that
# give the repaired values at the training points. The shift is a ridge in disguise: here it is large, and the machine
# is cautious.

horizontal, vertical = np.meshgrid(np.linspace(-1.8, 2.8, 90), np.linspace(-1.3, 1.8, 70))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
unseen, truth = make_moons(1000, noise=0.2, random_state=1)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharey=True, layout="constrained")
machines = [SVC(kernel, C=10.0, gram=Dense(indefinite=policy)) for policy in policies] + [SVC(Gaussian(0.5), C=10.0)]
for ax, machine in zip(axes, machines, strict=True):
    machine.fit(X, y)
    surface = machine.decision_function(grid).reshape(horizontal.shape)
    limit = np.abs(surface).max()
    ax.contourf(horizontal, vertical, surface, levels=20, cmap="RdBu", vmin=-limit, vmax=limit, alpha=0.7)
    ax.contour(horizontal, vertical, surface, levels=[0.0], colors="k")
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolor="k", s=18)
    name = machine.gram.indefinite if machine.gram is not None else "Gaussian, for comparison"
    ax.set_title(f"{name}\n{machine.score(unseen, truth):.1%} of unseen points")
    print(machine.repair_ or f"{machine.kernel_}: nothing to repair")
plt.show()

# %%
# A policy of *reject* refuses instead, with the quotient that shows why.

try:
    SVC(kernel, gram=Dense(indefinite="reject")).fit(X, y)
except np.linalg.LinAlgError as error:
    print(error)
