"""A Windows CPython under Wine on Linux, and the Windows extension built for it by mingw-w64."""
