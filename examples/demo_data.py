"""Write the data of ``make demo``: 442 patients, 400 to learn from and 42 to predict.

The data are those of scikit-learn's ``load_diabetes``: ten measurements, and the progression of the disease a
year later. Patients get names, and their sex is a category instead of a number.
"""

import csv
import sys
from pathlib import Path

from sklearn.datasets import load_diabetes


def main(folder):
    folder.mkdir(exist_ok=True)
    data = load_diabetes(scaled=False)
    sex = data.feature_names.index("sex")
    rows = []
    for i, (row, progression) in enumerate(zip(data.data.tolist(), data.target.tolist(), strict=True)):
        row[sex] = "f" if row[sex] == 1 else "m"
        rows.append([f"P{i:03}", *row, progression])
    names = ["id", *data.feature_names, "progression"]
    write(folder / "patients.csv", names, rows[:400])
    write(folder / "new.csv", names[:-1], [row[:-1] for row in rows[400:]])


def write(path, names, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
