"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import latex2mathml.converter
import matplotlib
from docutils.nodes import SkipNode

import jointdr

matplotlib.use("Agg")
HERE = Path(__file__).parent

project = "jointdr"
author = "the jointdr developers"
copyright = author
version = release = jointdr.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the order of examples is a function, which cannot be kept between builds

# Every link is checked. A word in single backticks is a link where there is such a name, and else a parameter, say.
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]
default_role = "py:obj"

# ---------------------------------------------------------------- pages

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

OUTSIDE = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md", "../README.md": "index.md"}
"""Files beside docs/ that other pages link to, and the pages that show them."""


def lead_to_pages(app, name, source):
    """Turn links to files of the repository into links to their pages."""
    folder = "../" * name.count("/")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", rf"]({folder}auto_examples/\1.rst)", source[0])
    for path, page in OUTSIDE.items():
        text = text.replace(f"]({path}", f"]({folder}{page}")
    source[0] = text


def mathml(display):
    """Formulas as MathML, which browsers draw themselves: no script, no fonts to fetch, nothing to wait for."""

    def visit(translator, node):
        formula = latex2mathml.converter.convert(node.astext(), display=display)
        translator.body.append(formula.replace("<mover>", '<mover accent="true">'))  # a hat lies close to its letter
        raise SkipNode

    return visit


# ---------------------------------------------------------------- reference

autosummary_generate = True
autodoc_typehints = "none"  # docstrings describe the arguments
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template lists them


def leave_out_of_reference(app, what, name, member, skip, options):
    """Leave out the members of scikit-learn's base classes, which are described there."""
    return True if getattr(member, "__module__", None) and member.__module__.startswith("sklearn") else None


def bars_are_bars(app, what, name, thing, options, lines):
    """|Ω| in a docstring is the size of a set, and not a substitution."""
    lines[:] = [re.sub(r"\|([^|`]+)\|", r"\\|\1\\|", line) for line in lines]


# ---------------------------------------------------------------- examples

ORDER = (
    "quickstart",
    "pathologies",
    "associations",
    "halves",
    "digits",
    "classes",
    "three_views",
    "rank_profile",
    "pipelines",
)


def position(filename):
    """The position of an example in the gallery; new ones come last."""
    name = Path(filename).stem
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def one_look(gallery_conf, name):
    """Give the figures of all examples one look."""
    matplotlib.rcParams.update(
        {
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
        }
    )


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": position,
    "backreferences_dir": "api/generated/examples",
    "doc_module": ("jointdr",),
    "reset_modules": ("matplotlib", one_look),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # that page would fetch scripts from elsewhere
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "abort_on_example_error": True,
}
warnings.filterwarnings("ignore", message=".*non-interactive.*")

# ---------------------------------------------------------------- looks

html_theme = "pydata_sphinx_theme"
html_title = f"jointdr {version}"
html_static_path = ["_static"]
html_css_files = ["jointdr.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark as the reader's system
html_theme_options = {
    "logo": {"text": "jointdr"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "getting_started": []}


def setup(app):
    """Connect the functions above to Sphinx, which calls this first."""
    app.connect("source-read", lead_to_pages)
    app.connect("autodoc-skip-member", leave_out_of_reference)
    app.connect("autodoc-process-docstring", bars_are_bars, priority=400)  # before numpydoc
    app.add_html_math_renderer("mathml", (mathml("inline"), None), (mathml("block"), None))
