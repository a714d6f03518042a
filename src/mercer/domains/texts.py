"""Samples that are documents: strings whose symbols are words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from mercer.arguments import answer_of
from mercer.domains.samples import kind_of
from mercer.domains.strings import Strings, listed
from mercer.domains.tokens import split
from mercer.errors import DomainError
from mercer.numerics.ragged import Ragged

__all__ = ["Texts"]
__public__ = __all__

_ACCEPTED = "Texts are a list of documents (str), or of lists of words."


class Texts(Strings):
    r"""Documents as sequences of words: the samples of every text kernel.

    .. math:: d = t_1 t_2 \dots t_{|d|}, \qquad t_i \text{ a term}

    Seed: [ST] "Kernels for text"; [HSS] Section 2.2.5, "Bag of Words".

    Parameters
    ----------
    ragged : Ragged
        ``(total,)`` int32 codes of the words and ``(n + 1,)`` offsets.
    vocabulary : tuple
        Distinct words in the order in which they were first seen.

    Notes
    -----
    Strings whose symbols are words, so that string kernels work on them: ``Spectrum(2)`` on Texts counts pairs of
    neighbouring words. Letters and words are not mixed up: kernels on texts refuse Strings.

    Without a tokenizer, documents are put in lower case (``str.lower``) and cut into the longest runs of letters,
    digits, marks (of any script) and underscores; an apostrophe within a word belongs to it. Nothing else is
    normalised or folded. Scripts that write no spaces between words need a tokenizer.

    Examples
    --------
    >>> S = Texts.pack(["The cat sat.", "Don't the cats sit?"])
    >>> S
    <Texts: 2 samples, 6 symbols, lengths 3 to 4>
    >>> S.symbols(1)
    ("don't", 'the', 'cats', 'sit')
    >>> Texts.pack(["to be|or not"], tokenizer=lambda text: text.split("|")).symbols(0)
    ('to be', 'or not')
    """

    @classmethod
    def pack(cls, X: Any, tokenizer: Callable[[str], Iterable[Any]] | None = None, ends: str = "") -> Self:
        """Turn documents into sequences of words.

        Parameters
        ----------
        X : list or array of str, or of sequences of words; a pandas, polars or pyarrow column
            One entry per document. Sequences are taken as words already.
        tokenizer : callable, optional
            Takes one document and returns its words (hashable, and not real numbers), in order.
        ends : str, default ""
            Characters that the default tokenizer keeps as separate words, unless a word continues after them: they end
            sentences.

        Raises
        ------
        DomainError
            A single text, no document, a document that is neither text nor words, a tokenizer that fails.
        """
        if cls._is_packed(X):
            return X
        documents = listed(X)
        strange = next((i for i, d in enumerate(documents) if isinstance(d, (bytes, bytearray))), None)
        if strange is not None:
            raise DomainError(
                f"Document {strange} is of type bytes. {_ACCEPTED} Decode it, as in text.decode('utf-8')."
            )
        if not documents or not all(isinstance(document, str) for document in documents):
            return cls._of_words(documents)  # which refuses a mixture of texts and lists of words
        if tokenizer is None:
            return cls._split(documents, ends)
        return cls._of_words([_words(tokenizer, document, i) for i, document in enumerate(documents)])

    @classmethod
    def _split(cls, documents: list[str], ends: str) -> Self:
        lowered = [document.lower() for document in documents]
        bounds = np.zeros(len(lowered) + 1, np.intp)
        np.cumsum([len(document) for document in lowered], out=bounds[1:])
        codes, offsets, words = split("".join(lowered), bounds, ends)
        return cls(Ragged(codes, offsets), tuple(words))

    @classmethod
    def _of_words(cls, documents: list[Any]) -> Self:
        S = Strings.pack(documents)
        if any(isinstance(word, bytes) for word in S.vocabulary):
            raise DomainError(f"Words of type bytes were given. {_ACCEPTED} Decode them, as in word.decode('utf-8').")
        return cls(S.ragged, S.vocabulary)


def _words(tokenizer: Callable[[str], Iterable[Any]], document: str, i: int) -> list[Any]:
    """Return the words of a document; errors in the tokenizer are attributed to it."""
    name = getattr(tokenizer, "__name__", type(tokenizer).__name__)

    def split(text: str) -> Any:  # a generator fails only as it is read
        found = tokenizer(text)
        return list(found) if isinstance(found, Iterable) and not isinstance(found, (str, bytes)) else found

    who = f"At document {i} the tokenizer {name}"
    words = answer_of(split, document, who=who, takes="one text, and returns a list of its words")
    if isinstance(words, list):
        return words
    raise DomainError(
        f"The tokenizer {name} returned {kind_of(words)} for document {i}; it must return a list of words. "
        "Correct the tokenizer, as in lambda text: text.split()."
    )
