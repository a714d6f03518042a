"""The commands as click sees them: arguments, options, help. What they do is in the module of the same name.

Nothing heavy is imported here, so every ``--help`` answers at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mercer.cli.application import work

__all__ = ["COMMANDS"]

COMMANDS: dict[str, click.Command] = {}  # by name; those that `_command` has made
FORMATS = ("csv", "tsv", "excel", "parquet", "svmlight", "gram", "jsonl", "fasta", "fastq", "conll")
FORMATS += ("penn", "xml", "html", "json", "python", "trees", "texts", "graphml", "graph-json", "edges", "tu")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _File(click.Path):
    """The name of a file, which has no NUL byte."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "\0" in os.fsdecode(value):
            self.fail(f"{os.fsdecode(value)!r} has a NUL byte, which file names cannot have. Correct it.", param, ctx)
        return super().convert(value, param, ctx)


FILE = _File(path_type=Path, allow_dash=False)


class _Command(click.Command):
    """A command that refuses an option given twice, of which the first would be silently lost."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in self.params:
            single = isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count)
            if single and given.count(option) > 1:
                raise click.UsageError(f"{option.opts[-1]} was given {given.count(option)} times; give it once.", ctx)
        return super().parse_args(ctx, args)


def _command(example: str, details: str = "") -> Callable[[Callable[..., Any]], click.Command]:
    """A command that its function names and summarises, with the common options and an example after its help."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        name, summary = function.__name__, function.__doc__ or ""
        epilog = f"\b\nExample:\n  {example}"
        command = click.command(
            name, cls=_Command, help=f"{summary}\n\n{details}".strip(), short_help=summary, epilog=epilog
        )(function)
        command.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
            click.Option(["-q", "--quiet"], is_flag=True, help="No messages and no progress bar."),
            click.Option(["--debug"], is_flag=True, help="Show where an error happened."),
        ]
        COMMANDS[name] = command
        return command

    return decorate


def _all(*options: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_format = _all(
    click.option("--format", type=click.Choice(FORMATS), help="Format of the data; found if not given."),
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of texts."),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="Decimal mark of numbers in CSV and TSV; with a comma, semicolons or tabs separate fields.",
    ),
)
_memory = click.option("--memory", metavar="SIZE", help="Memory to use, e.g. 2GB; 70 % of what is free if not given.")
_threads = click.option("--threads", type=click.IntRange(1), help="Threads to use; all cores if not given.")
_max_time = click.option(
    "--max-time", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop after this many seconds."
)
_force = click.option("-f", "--force", is_flag=True, help="Overwrite output files that exist.")
_budgets = _all(_memory, _max_time, _threads)
_dask = click.option(
    "--dask",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Compute on the workers of this Dask scheduler; without ADDRESS, or with local, workers are started here.",
)


_missing = click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What to do with rows that have missing values.",
)
_missing_of_fit = click.option(
    "--missing",
    type=click.Choice(["fill", "refuse", "drop"]),
    help="What to do with rows that have missing values: fill them in (only where the model is found), or refuse them, "
    "or leave them out. They are filled in where that can be done, else refused, if not given.",
)


def _output(required: bool, help: str) -> Decorator:
    return click.option("-o", "--output", type=FILE, required=required, metavar="FILE", help=help)


_spreadsheet = click.option(
    "--spreadsheet",
    is_flag=True,
    help="Write an apostrophe before texts in CSV that begin with = + - or @ and are not numbers, so that no "
    "spreadsheet runs them as formulas.",
)


@_command(
    "mercer fit patients.csv --target progression",
    "DATA is a file, a folder of trees, graphs or texts (a subfolder for each class), or - for standard input. Without "
    "--estimator the task is found from the target (texts and a few whole numbers are classes), columns of numbers, "
    "categories, dates and texts each get a kernel, and several machines are compared in folds. Texts of words are "
    "compared by tf-idf, sequences by their substrings, trees by their parts, graphs by the surroundings of their "
    "nodes. The score that is printed is that of rows which took no part in the choice.",
)
@click.argument("data", type=FILE)
@click.option(
    "-t",
    "--target",
    multiple=True,
    metavar="NAME",
    help="What to predict: the name of a column or field. Given several times, each target gets a model of its own, "
    "DATA.TARGET.mercer, and is no input of the others.",
)
@click.option("--weights", metavar="COLUMN", help="A column of weights: a row of weight 2 counts as two rows.")
@click.option("--groups", metavar="COLUMN", help="Rows of one group (a patient, a batch) are never split by folds.")
@click.option(
    "--time", metavar="COLUMN", help="Judge by later rows than those that were learned from: numbers or dates."
)
@click.option("--bags", metavar="COLUMN", help="Rows with the same value here are the instances of one sample, a bag.")
@click.option(
    "--links",
    metavar="COLUMNS",
    help="Two columns, between a comma, that name nodes: rows are pairs, and say what links.",
)
@click.option("--nodes", type=FILE, metavar="FILE", help="A table of the nodes of --links: their names, and numbers.")
@click.option("--test", type=FILE, metavar="FILE", help="Samples with their targets, on which the model is scored.")
@click.option(
    "--metric",
    metavar="NAME",
    help="The score by which models are compared and judged, as scikit-learn calls it: roc_auc, f1_macro, "
    "neg_mean_absolute_error.",
)
@click.option(
    "--features", multiple=True, metavar="NAMES", help="Use these columns only; names between commas, or several times."
)
@click.option("--drop", multiple=True, metavar="NAMES", help="Leave these columns out.")
@click.option("--labels", type=FILE, help="A table with the targets, if the data file has no place for them.")
@click.option("-e", "--estimator", metavar="TEXT", help="As repr prints it: 'KernelRidge(Gaussian(2.0), alpha=0.1)'.")
@click.option("--mix", is_flag=True, help="One kernel for each column, with weights that are learned.")
@click.option(
    "--search", is_flag=True, help="Grow a kernel of sums and products for numbers, and show what its parts contribute."
)
@click.option(
    "--tries", type=click.IntRange(1), default=100, show_default=True, help="Kernels that --search fits at most."
)
@click.option("--task", type=click.Choice(["regression", "classification"]), help="Instead of the one found.")
@_missing_of_fit
@click.option(
    "--folds", type=click.IntRange(0), default=5, show_default=True, help="Cross-validation of a given --estimator."
)
@_format
@_output(False, "The model; DATA with the ending .mercer if not given.")
@click.option("--report", type=FILE, metavar="FILE", help="The report; the model's name with .html if not given.")
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--allow-partial", is_flag=True, help="Keep a model whose solver did not converge.")
@_dask
@click.option("--checkpoint", type=FILE, help="Keep the state of the fit here; the same command resumes from it.")
@click.option("--checkpoint-every", default="60s", show_default=True, metavar="TIME", help="How often it is written.")
@_force
@_budgets
def fit(**options: Any) -> None:
    """Fit a model to a data file and save it."""
    work("fit", options)


@_command(
    "mercer predict patients.mercer new.csv -o predictions.csv",
    "Predictions go to stdout, or to the file of -o, as CSV with the names of the samples. Texts are written as they "
    "are, so that programs read what was given; use --spreadsheet for files to be opened in one.",
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@_output(False, "Where the predictions go; stdout if not given.")
@click.option("--scores", is_flag=True, help="Add the values that decide between classes.")
@click.option("--proba", is_flag=True, help="Add the probability of each class, if the model has it.")
@_spreadsheet
@_format
@_force
@_budgets
def predict(**options: Any) -> None:
    """Predict new samples with a saved model."""
    work("predict", options)


@_command(
    "mercer certificate patients.mercer patients.csv",
    "DATA is the file that the model was fitted to, or other samples alike. Bounds are printed with their terms, what "
    "they assume and whether that holds; beside them errors on the sample, left out, in folds and held out.",
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option("-t", "--target", metavar="COLUMN", help="The column to predict; that of the fit if not given.")
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Probability with which a bound may fail.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1),
    help="Between how many kernels was chosen on these samples; what the model knows of it if not given.",
)
@click.option("--held-out", type=FILE, metavar="FILE", help="Samples that had no part in the fit.")
@click.option("--folds", type=click.IntRange(0), default=5, show_default=True, help="Of cross-validation; 0 for none.")
@_format
@_budgets
def certificate(**options: Any) -> None:
    """Say how far a saved model can be trusted."""
    work("certificate_command", options)


@_command(
    "mercer check patients.csv --target progression",
    "Finds missing values, constant columns, repeated rows and columns, different scales and unequal classes. With "
    "--kernel, or for a Gram matrix: symmetry, smallest eigenvalue, condition and rank, on at most 2000 samples.",
)
@click.argument("data", type=FILE)
@click.option("-t", "--target", metavar="NAME", help="What to predict.")
@click.option("-k", "--kernel", metavar="TEXT", help="Check the Gram matrix of this kernel, too.")
@click.option("--bags", metavar="COLUMN", help="Rows with the same value here are the instances of one sample, a bag.")
@_format
@_memory
@_threads
def check(**options: Any) -> None:
    """Check a data file, or a Gram matrix, and say what is odd."""
    work("check", options)


@_command(
    "mercer kernels --domain strings",
    "With a NAME, everything about one kernel; other names in the literature (RBF) are understood. Any other WORD is "
    "looked for in names, domains and descriptions.",
)
@click.argument("name", metavar="[NAME|WORD]", required=False)
@click.option("-d", "--domain", metavar="DOMAIN", help="Only those that compare vectors, strings, ...")
def kernels(**options: Any) -> None:
    """List or search kernels: formula, domain, validity, cost."""
    work("kernels", options)


@_command(
    "mercer gram proteins.fasta --kernel 'Spectrum(3).normalized()' -o proteins.npy",
    "The matrix is written to disk block by block; memory does not grow with its size. A run that was interrupted "
    "resumes where it stopped when the same command is given again, and the result is the same to the bit.",
)
@click.argument("data", type=FILE)
@click.option("-k", "--kernel", required=True, metavar="TEXT", help="As repr prints it: 'Gaussian(2.0) + Linear()'.")
@_output(True, "The matrix, a .npy file; names of samples go to a file with the ending .ids.")
@click.option("-t", "--target", metavar="NAME", help="A column that is not compared.")
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True)
@click.option("--restart", is_flag=True, help="Start again instead of resuming an interrupted run.")
@_dask
@_format
@_force
@_budgets
def gram(**options: Any) -> None:
    """Compute a Gram matrix on disk, larger than memory; resumable."""
    work("gram_command", options)


@_command(
    "mercer convert patients.csv -o patients.jsonl",
    "Data: CSV, TSV, JSON lines, svmlight and Parquet, read and written; FASTA, FASTQ, files of trees and Gram "
    "matrices, read. "
    "Models: a LIBSVM text file becomes a mercer model (-o name.mercer).",
)
@click.argument("data", type=FILE)
@_output(True, "The new file; its ending names the format.")
@click.option(
    "--to", type=click.Choice(["csv", "tsv", "jsonl", "svmlight", "parquet", "mercer"]), help="Format of the new file."
)
@click.option("-t", "--target", metavar="NAME", help="The column that becomes the label of svmlight.")
@_spreadsheet
@_format
@_force
@_memory
def convert(**options: Any) -> None:
    """Write data or a model in another format."""
    work("convert", options)


@_command(
    "mercer test before.csv after.csv --stat mmd",
    "With --stat mmd rows of both files are two samples, and the hypothesis is that they have the same distribution. "
    "With --stat hsic row i of both files was observed together, and the hypothesis is that they are independent. A "
    "small p-value is evidence against the hypothesis. Numbers, categories and texts get kernels of their own unless "
    "one is given.",
)
@click.argument("data", type=FILE)
@click.argument("other", type=FILE)
@click.option("--stat", type=click.Choice(["mmd", "hsic"]), default="mmd", show_default=True, help="What is measured.")
@click.option("-k", "--kernel", metavar="TEXT", help="As repr prints it: 'Gaussian(2.0)', 'Spectrum(3).normalized()'.")
@click.option("--other-kernel", metavar="TEXT", help="For the second file, with --stat hsic; the same if not given.")
@click.option(
    "--null",
    type=click.Choice(["permutation", "gamma", "spectral", "wild", "aggregated"]),
    default="permutation",
    show_default=True,
    help="How p-values are computed; aggregated takes Gaussians of several widths, wild is for rows in time order.",
)
@click.option(
    "--block-length",
    type=click.FloatRange(0, min_open=True),
    metavar="STEPS",
    help="For --null wild: over how many rows they depend; estimated if not given.",
)
@click.option("-n", "--permutations", type=click.IntRange(1), default=1000, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The hypothesis is rejected if the p-value is not above this level.",
)
@_missing
@_format
@_budgets
def test(**options: Any) -> None:
    """Test whether two files have the same distribution, or are independent of each other."""
    work("dependence", options)


@_command(
    "mercer show patients.mercer",
    "What it is, what it was fitted to, how well, and its parameters. Nothing in the file is run.",
)
@click.argument("model", type=FILE)
def show(**options: Any) -> None:
    """Describe a saved model."""
    work("show", options)


@_command(
    "mercer studio patients.csv",
    "Points, sliders and kernels made of blocks; Gaussian processes; your own file; Gram matrices; two samples. The "
    "page is served on 127.0.0.1 alone, to whoever has the address that is printed. Needs the extra: pip install "
    "'mercer[studio]'.",
)
@click.argument("data", type=FILE, required=False, metavar="[FILE]")
@click.option(
    "--folder", type=FILE, help="Where models are saved; the folder of FILE, else the current one, if not given."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="A random free one if not given.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def studio(**options: Any) -> None:
    """Open a page where kernels are understood by touching them."""
    work("mercer.studio.studio_command", options)


@_command(
    "mercer completion bash",
    "Put its output where your shell reads it at start, for example: mercer completion bash >> ~/.bashrc",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(**options: Any) -> None:
    """Print what makes a shell complete commands and options."""
    work("completion", options)


@_command("mercer doctor")
def doctor(**options: Any) -> None:
    """Describe this installation: versions, threads, caches, memory."""
    work("doctor", options)


@_command("mercer warmup", "Compiled code is kept in a cache on disk that belongs to the user alone.")
@_threads
def warmup(**options: Any) -> None:
    """Compile all loops now, so that the next command need not."""
    work("warmup", options)
