"""What jobs print: folders and files read as tables, models and requests of a dataset."""
