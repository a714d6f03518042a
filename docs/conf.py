"""How Sphinx builds the documentation: ``make docs``. Nothing is fetched, while building or while reading."""

import sys
from pathlib import Path

import mercer

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]

project = "mercer"
author = "The mercer developers"
copyright = "the mercer developers"
version = release = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_docstrings",
    "neighbours",
]
exclude_patterns = ["gallery/**"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [
        f"gallery/{name}"
        for name in (
            *("kernels", "objects", "machines", "processes", "geometry", "inference", "scale", "several", "outputs"),
            *("figures", "experiments"),
        )
    ],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "download_all_examples": False,
    "min_reported_time": 3600,
    "reference_url": {"mercer": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "mercer"},
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
