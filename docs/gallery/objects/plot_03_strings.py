"""
Strings
=======

Strings are compared by the substrings they share; no features have to be extracted. Which of three languages is a word
from?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from mercer import KernelMeanClassifier
from mercer.kernels import Spectrum
from mercer.plots import GramDisplay

WORDS = {
    "English": "house water friend morning window father bread winter bridge garden street shadow kitchen thunder",
    "Finnish": "talo vesi ystävä aamu ikkuna isä leipä talvi silta puutarha katu varjo keittiö ukkonen",
    "Italian": "casa acqua amico mattina finestra padre pane inverno ponte giardino strada ombra cucina tuono",
}
words = np.array([word for text in WORDS.values() for word in text.split()])
language = np.array([name for name, text in WORDS.items() for _ in text.split()])

# %%
# ``Spectrum(p)`` counts common substrings of length p. Single letters and pairs are both informative, so their kernels
# are added; normalising makes long and short words comparable.

kernel = (Spectrum(1) + Spectrum(2)).normalized()
print(kernel(["window", "winter", "ikkuna"]).round(2))

# %%
# The Gram matrix of all words, ordered by language:

GramDisplay.from_kernel(kernel, words, language)
plt.show()

# %%
# The nearest class mean in feature space, each word predicted from all the others:

guesses = cross_val_predict(KernelMeanClassifier(kernel), words, language, cv=LeaveOneOut())
print(f"{np.mean(guesses == language):.0%} of {len(words)} words")
for word, truth, guess in zip(words, language, guesses, strict=True):
    if truth != guess:
        print(f"{word:10} {truth} taken for {guess}")
