"""Makes the pages of docs/reference from what they describe: `make reference`.

A page is a module with a function that returns Markdown; `__main__` writes them all. A test fails where
a page in the repository is not what its function returns.
"""
