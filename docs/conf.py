"""How `make docs` turns these pages into the site in build/site. Nothing here needs the network."""

project = "sdcgate"
html_title = "sdcgate"
copyright = "The authors of sdcgate, Apache License 2.0"

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
exclude_patterns = ["generators", "examples"]
nitpicky = True

html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_style = "friendly"
pygments_dark_style = "monokai"
