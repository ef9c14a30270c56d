"""Methods that protect files of microdata: records in, changed records and what was lost out."""
