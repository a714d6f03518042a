"""What the copy buttons give, run: Python here, commands one by one; the last line printed is read as JSON."""

import contextlib
import io
import json
import shlex

from mercer.cli.application import application
from tests.unit.cli.commandline import run


def python_numbers(text, folder):
    """Run a program in a folder and return the list that its last line prints."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(text, "copied", "exec"), {"__name__": "copied"})
    return json.loads(printed.getvalue().strip().splitlines()[-1])


def command_output(text, folder):
    """Write the files and run the commands of a text; return what the last one prints."""
    lines, last = iter(text.splitlines()), ""
    for line in lines:
        if line.startswith("cat > "):
            name = line.split()[2]
            body = []
            while (row := next(lines)) != "END":
                body.append(row)
            (folder / name).write_text("\n".join(body) + "\n", encoding="utf-8")
            continue
        words, printed = shlex.split(line), io.StringIO()
        if words[0] == "python":
            assert words[1] == "-c"
            last = json.dumps(python_numbers(words[2], folder))
            continue
        assert words[0] == "mercer"
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            application.main(words[1:], standalone_mode=False)
        last = printed.getvalue()
    return json.loads(last)


def fitted(known):
    """Fit a plain model to the file of a request, as a job would."""
    run("fit", known["path"], "--target", "y", "-e", "SVC(Gaussian(1.0))", "--folds", "0", "--no-report", "-o",
        f"{known['room']}/model.mercer", "--force")  # fmt: skip
