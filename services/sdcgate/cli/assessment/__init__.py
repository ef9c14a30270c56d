"""`sdcgate assess`: the report on a file of microdata, as text and as an HTML page."""
