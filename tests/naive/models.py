"""Generative models from their definitions: sums over all hidden paths, products over all positions, differences."""

import itertools
import math

import numpy as np


def hidden_paths(length, states):
    """All hidden paths of a length."""
    return itertools.product(range(states), repeat=length)


def joint(path, B, start, transitions):
    """p(x, z) of one path; row t of B tells how likely observation t is in each state."""
    value = 1.0
    for t, k in enumerate(path):
        value *= (start[k] if t == 0 else transitions[path[t - 1]][k]) * B[t][k]
    return value


def likelihood(B, start, transitions):
    """p(x) as the sum over all hidden paths."""
    return sum(joint(path, B, start, transitions) for path in hidden_paths(len(B), len(start)))


def expected(B, start, transitions):
    """P(z_t = k | x), (T, K), and the expected transitions, (K, K), by summing over all hidden paths."""
    total, gamma = 0.0, np.zeros((len(B), len(start)))
    pairs = np.zeros((len(start), len(start)))
    for path in hidden_paths(len(B), len(start)):
        value = joint(path, B, start, transitions)
        total += value
        for t, k in enumerate(path):
            gamma[t, k] += value
            if t:
                pairs[path[t - 1], k] += value
    return gamma / total, pairs / total


def markov(codes, transitions, letters, order):
    """p(s) of a Markov chain, summed over what is missing (-1)."""
    choices = [range(letters) if code < 0 else [code] for code in codes]
    total = 0.0
    for full in itertools.product(*choices):
        value = 1.0
        history = [letters] * order + list(full)
        for t, code in enumerate(full):
            context = 0
            for symbol in history[t : t + order]:
                context = context * (letters + 1) + symbol
            value *= transitions[context][code]
        total += value
    return total


def normal(x, mean, factor):
    """The normal density of a vector, from the covariance."""
    covariance = factor @ factor.T
    away = x - mean
    quadratic = away @ np.linalg.inv(covariance) @ away
    return math.exp(-0.5 * quadratic) / math.sqrt((2.0 * math.pi) ** len(x) * np.linalg.det(covariance))


def differences(function, theta, step=1e-5):
    """Derivatives of a function that returns an array, in the entries of theta: (len values, p)."""
    theta = np.asarray(theta, dtype=float)
    columns = []
    for i in range(theta.size):
        move = np.zeros(theta.size)
        move[i] = step
        move = move.reshape(theta.shape)
        columns.append((function(theta + move) - function(theta - move)) / (2.0 * step))
    return np.stack(columns, axis=-1)


def softmax(logits):
    """Distributions from logits, along the last axis."""
    powers = np.exp(logits)
    return powers / powers.sum(axis=-1, keepdims=True)
