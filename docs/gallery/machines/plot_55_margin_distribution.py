"""
Margins, boosted
================

A classifier that votes is sure of some samples and unsure of others. The margin of a sample says how sure, and on which
side: :math:`y_i f(x_i)`, with the votes scaled so that none can exceed one. Boosting is explained by what it does to
the whole distribution of margins, and so are support vector machines; they differ in which part of it they look at.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import AdaBoostClassifier, KernelBalls, LPBoostClassifier, NuSVC
from mercer.kernels import Gaussian
from mercer.plots import MarginDistributionDisplay

rng = np.random.default_rng(0)
n = 200
X = rng.uniform(-1.0, 1.0, size=(n, 5))
y = np.where(X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.3 * rng.normal(size=n) > 0.0, 1, -1)

# %%
# **Stumps.** ``AdaBoostClassifier`` lowers the sum of exp(-margin), to which the worst samples contribute most, one
# stump after another. ``LPBoostClassifier`` maximises the mean of the margins in the worst share nu, exactly: a linear
# program over all stumps, of which only those that matter are ever built.

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True, layout="constrained")
ada = AdaBoostClassifier(n_estimators=100).fit(X, y)
votes = sum(np.abs(ada.ensembles_[0].weights))
MarginDistributionDisplay.from_margins(y * ada.decision_function(X) / votes, name="AdaBoost", ax=axes[0])
for nu in (0.05, 0.3):
    model = LPBoostClassifier(nu=nu).fit(X, y)
    display = MarginDistributionDisplay.from_estimator(
        model, X, y, normalized=False, name=f"LPBoost, nu = {nu}", ax=axes[0]
    )
    worst = display.tail_mean(nu)
    print(
        f"nu = {nu}: mean of the worst margins {worst:.4f}, at most {model.dual_gap_:.4f} below the best; "
        f"{len(model.ensembles_[0].weights)} stumps, {model.n_iter_} rounds"
    )
    assert np.isclose(worst, model.objective_[0])
    assert np.mean(y * model.decision_function(X) < model.margin_[0] - 1e-6) <= nu
axes[0].set_title("stumps")

# %%
# **The same in a feature space.** With the functions of norm one in the space of a kernel as weak learners, linear
# programming boosting is a support vector machine whose norm is not squared. ``NuSVC`` squares the norm and leaves the
# bias unpenalised; apart from this both maximise the mean of the worst share nu of the margins, which is minus their
# conditional value at risk.

kernel, nu = Gaussian(0.7), 0.3
machine = NuSVC(kernel, nu=nu, tol=1e-6).fit(X, y)
f = y * machine.decision_function(X) / machine.expansion_.norm()
ball = LPBoostClassifier(KernelBalls(kernel, constant=True), nu=nu).fit(X, y)
for name, margins in (("NuSVC", f), ("LPBoost of a ball", y * ball.decision_function(X))):
    display = MarginDistributionDisplay.from_margins(margins, nu=nu, name=name, ax=axes[1])
    print(f"{name}: mean of the worst {nu:.0%} {display.tail_mean(nu):.4f}")
axes[1].set_title("a Gaussian kernel, norm 1")
plt.show()

# %%
# **Which kernels.** Balls of several kernels are weak learners side by side: a round looks at
# :math:`N_t = \sqrt{u^\top Y K_t Y u}` of each, takes the largest, and ends when none exceeds the bound. What remains
# is multiple kernel learning by linear programs, with the weights of the kernels and a certificate.

widths = (0.1, 0.3, 1.0, 3.0)
model = LPBoostClassifier(KernelBalls(tuple(map(Gaussian, widths))), nu=nu, tol=1e-3).fit(X, y)
u = model.dual_[0]
for width, weight in zip(widths, model.kernel_weights_[0], strict=True):
    length = np.sqrt(u @ Gaussian(width)(X) @ u)
    print(f"width {width}: weight {weight:.3f}, N = {length:.4f}, bound {model.objective_[0] + model.dual_gap_:.4f}")
    assert length <= model.objective_[0] + model.dual_gap_ + 1e-9
