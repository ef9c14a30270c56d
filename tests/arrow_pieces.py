"""Arrow IPC streams of files, and the messages that carry them."""

import pyarrow as pa


def ipc(made, **options):
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(made)
    return sink.getvalue().to_pybytes()


def requests(kind, options, piece=777, **files):
    """The messages of a call: the options, then each file in pieces."""
    yield kind(options=options)
    for name, content in files.items():
        for begin in range(0, len(content), piece):
            yield kind(**{name: content[begin : begin + piece]})
