"""
Points with names
=================

A map of samples is read by their names. ``EmbeddingDisplay`` writes them where there is room, so that they cover
neither each other nor the points; nothing needs a mouse, and the picture can be printed.
"""

import matplotlib.pyplot as plt

from mercer.kernels import Spectrum
from mercer.plots import EmbeddingDisplay

WORDS = {
    "English": "house water friend morning window father bread winter bridge garden street shadow kitchen thunder",
    "Finnish": "talo vesi ystävä aamu ikkuna isä leipä talvi silta puutarha katu varjo keittiö ukkonen",
    "Italian": "casa acqua amico mattina finestra padre pane inverno ponte giardino strada ombra cucina tuono",
}
words = [word for text in WORDS.values() for word in text.split()]
language = [name for name, text in WORDS.items() for _ in text.split()]

# %%
# Words, placed by the first two components of a kernel that counts common letters and pairs of letters. The languages
# were not given.

display = EmbeddingDisplay.from_kernel((Spectrum(1) + Spectrum(2)).normalized(), words, groups=language)
print(display)
plt.show()

# %%
# A fitted estimator with ``transform`` or ``embedding_`` is drawn by ``from_estimator``, points computed in other ways
# by ``from_points``. Which names found room is in ``shown_``:

left_out = sorted(set(words) - {words[place] for place in display.shown_})
print("without a name:", ", ".join(left_out) or "none")
